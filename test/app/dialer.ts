import t from 'tap'
import { Dialer } from '../../src/app/dialer.js'
import { ServerRegistry } from '../../src/app/server-registry.js'
import { parseConfig } from '../../src/config/parse.js'
import { silentLogger } from '../../src/kernel/logger.js'
import { Children } from '../../src/state/processes/children.js'
import { FakeClock } from '../support/fake-clock.js'
import { linkOptions } from '../support/proxy/links.js'
import { boundsOf } from '../support/values.js'

t.test('the room that was made for one server and taken by another is not taken twice', async t => {
  const text = JSON.stringify({ mcpServers: { s: { command: '/nowhere/at/all' } } })
  const registry = new ServerRegistry(parseConfig(text, '/x/mcp.json', {}).config?.servers ?? [])
  const [server] = registry.servers
  if (server === undefined) throw new Error('there is one')
  const clock = new FakeClock()
  const children = new Children()
  children.added(101, {})
  const makeRoom = (): Promise<boolean> => {
    const [first] = children.pids
    if (first !== 101) return Promise.resolve(false)
    children.removed(first)
    children.added(102, {})
    return Promise.resolve(true)
  }
  const bounds = boundsOf({ children: 1 }, clock)
  const logins = { of: () => Promise.resolve(undefined) }
  const dialer = new Dialer(registry.configOf, {
    clock,
    log: silentLogger,
    children,
    bounds,
    makeRoom,
    logins,
    programEnv: () => process.env,
  })
  const { listener, signal, ...greeting } = linkOptions({ clock })
  const refused = { code: 'overloaded', data: { limit: 'children', max: 1 } }
  await t.rejects(dialer.dial(server, greeting, listener, signal), refused)
  t.same(children.pids, [102])
  children.removed(102)
  await dialer.close()
})
