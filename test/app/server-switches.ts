import t from 'tap'
import { ServerSwitches } from '../../src/app/server-switches.js'
import { diffConfigs } from '../../src/config/diff.js'
import { parseConfig } from '../../src/config/parse.js'
import type { ProxyConfig } from '../../src/config/types.js'
import { Fault } from '../../src/kernel/faults.js'

const read = (mcpServers: object, more: object = {}): ProxyConfig => {
  const { config } = parseConfig(JSON.stringify({ mcpServers, ...more }), 'test.json', {})
  if (config === undefined) throw new Error('bad configuration')
  return config
}

const BOTH = { a: { command: 'x' }, b: { command: 'y' } }

/** Switches with `a` off, and the names of the servers in force. */
const withAOff = () => {
  let config = read(BOTH)
  let refusal: Fault | undefined
  const switches = new ServerSwitches(config, next => {
    if (refusal !== undefined) throw refusal
    const diff = diffConfigs(config, next)
    config = next
    return diff
  })
  switches.set('a', false)
  const running = () => config.servers.map(({ name }) => name)
  const refuse = (fault?: Fault): void => {
    refusal = fault
  }
  return { switches, running, refuse }
}

t.test('a disabled server stays off at reloads that do not change its entry', async t => {
  const { switches, running } = withAOff()
  t.same(running(), ['b'])
  const same = switches.reload(read(BOTH))
  t.match(same, { added: [], removed: [], replaced: [] })
  t.same(running(), ['b'], 'a file that has not changed')
  switches.reload(read({ ...BOTH, b: { command: 'z' }, c: { command: 'x' } }, { pageSize: 7 }))
  t.same(running(), ['b', 'c'], 'changes elsewhere')
  t.same([...switches.off], ['a'])
})

t.test('a disabled server is on again once it is enabled, or its entry changes', async t => {
  for (const entry of [
    { command: 'other' },
    { command: 'x', prefix: 'p' },
    { command: 'x', idleStop: '9m' },
    { command: 'x', tools: { deny: ['t'] } },
  ]) {
    const { switches, running } = withAOff()
    t.match(switches.reload(read({ ...BOTH, a: entry })), { added: ['a'] })
    t.same(running(), ['a', 'b'])
    t.equal(switches.off.size, 0)
  }
  const { switches, running } = withAOff()
  switches.set('a', true)
  t.same(running(), ['a', 'b'])
})

t.test('a server that was removed from the file is on when it is added again', async t => {
  const { switches, running } = withAOff()
  switches.reload(read({ b: BOTH.b }))
  t.equal(switches.off.size, 0)
  switches.reload(read(BOTH))
  t.same(running(), ['a', 'b'])
})

t.test('a change that is refused switches nothing', async t => {
  const { switches, running, refuse } = withAOff()
  refuse(new Fault('unavailable', 'it is shutting down'))
  t.throws(() => switches.set('b', false))
  t.throws(() => switches.reload(read({ ...BOTH, a: { command: 'z' } })))
  refuse()
  t.same([...switches.off], ['a'])
  switches.reload(read(BOTH))
  t.same(running(), ['b'])
})
