import t from 'tap'
import { ToolExposure } from '../../../src/catalog/views/tool-exposure.js'
import type { Router } from '../../../src/mux/router.js'
import type { Amount, ToolExposureOptions } from '../../../src/search/expose-rules.js'
import { FakeClient } from '../../support/client/fake-client.js'

/** No client of these tests makes requests. */
const ROUTER = {} as Router

const toolExposure = (more: Partial<ToolExposureOptions> = {}): ToolExposure =>
  new ToolExposure({ expose: {}, views: [], clients: [], ...more }, ({ view = 'default' }) => view)

const amount =
  (tools: number, tokens = 1, version = 'v'): (() => Amount & { readonly version: string }) =>
  () => ({ version, tools, tokens: () => tokens })

/** client, tools, tokens → how it is shown them, and why */
const ROWS: readonly (readonly [string, number, number, 'direct' | 'search', string])[] = [
  ['cursor-vscode', 40, 5000, 'direct', '40 of at most 40 tools, about 5000 of 10000 tokens'],
  ['Cursor', 41, 5000, 'search', '41 tools, but it accepts 40'],
  ['windsurf-client', 100, 1, 'direct', '100 of at most 100 tools, about 1 of 10000 tokens'],
  ['windsurf-client', 101, 1, 'search', '101 tools, but it accepts 100'],
  ['Visual Studio Code - Insiders', 129, 1, 'search', '129 tools, but it accepts 128'],
  ['vscode', 128, 10_001, 'search', 'about 10001 tokens, above the limit of 10000'],
  ['somebody', 5000, 500_000, 'direct', 'it has no known limit of tools'],
  ['claude-code', 5000, 500_000, 'direct', 'it loads tools on demand'],
  ['copilot-cli', 5000, 500_000, 'direct', 'it loads tools on demand'],
]

t.test('a client sees all tools up to its maximum, and search tools otherwise', async t => {
  for (const [name, tools, tokens, mode, why] of ROWS) {
    const client = new FakeClient(ROUTER, { name })
    t.match(toolExposure().choose(client, amount(tools, tokens)), { mode, why }, name)
  }
})

t.test('in auto mode, or with maxTools, unknown clients are treated like most models', async t => {
  const auto = toolExposure({ expose: { mode: 'auto' } })
  for (const [tools, mode] of [
    [128, 'direct'],
    [129, 'search'],
  ] as const)
    t.equal(auto.choose(new FakeClient(ROUTER, { name: 'x' }), amount(tools)).mode, mode)
  const limited = toolExposure({ clients: [{ name: 'x', maxTools: 7, expose: undefined }] })
  t.equal(limited.choose(new FakeClient(ROUTER, { name: 'x' }), amount(8)).mode, 'search')
})

t.test('the rules of the client take precedence over its view, then over the defaults', async t => {
  const rules = toolExposure({
    expose: { mode: 'direct', pin: ['a'], tokens: 5 },
    views: [{ name: 'v', expose: { mode: 'search', pin: ['b'] } }],
    clients: [
      { name: 'some*', maxTools: 7, expose: undefined },
      { name: '*one', maxTools: 9, expose: { mode: 'auto' } },
    ],
  })
  const said = (about: ConstructorParameters<typeof FakeClient>[1], tools = 1) => {
    const { mode, why, pins, max } = rules.choose(new FakeClient(ROUTER, about), amount(tools, 6))
    return [mode, why, ['a', 'b'].filter(name => pins?.has(name)), pins && max]
  }
  const SAID = 'set in the configuration'
  t.same(said({ name: 'x' }), ['direct', SAID, ['a'], 123])
  t.same(said({ name: 'x', view: 'v' }), ['search', SAID, ['b'], 123])
  t.same(said({ name: 'someone', view: 'v' }, 8), ['search', '8 tools, but it accepts 7', ['b'], 2])
  t.same(said({ name: 'someone' }, 7), ['search', 'about 6 tokens, above the limit of 5', ['a'], 2])
  t.same(said({ name: 'claude-code' }), ['direct', SAID, ['a'], Number.POSITIVE_INFINITY])
})

t.test('a session keeps its mode across reloads', async t => {
  const rules = toolExposure({ expose: { mode: 'search' } })
  const [client, other] = [new FakeClient(ROUTER), new FakeClient(ROUTER)]
  t.equal(rules.known(client)?.mode, 'search')
  rules.reload({ expose: { mode: 'auto' }, views: [], clients: [] })
  t.equal(rules.known(client)?.mode, 'search')
  t.equal(rules.known(other), undefined)
  t.equal(rules.choose(other, amount(1)).mode, 'direct')
  t.equal(rules.choose(other, amount(1000, 1, 'w')).mode, 'direct')
  const returned = new FakeClient(ROUTER, { revision: '2026-07-28' })
  t.equal(rules.choose(returned, amount(1)).mode, 'direct')
  t.equal(rules.choose(returned, amount(1000)).mode, 'direct', 'nothing has changed')
  t.equal(rules.choose(returned, amount(1000, 1, 'w')).mode, 'search')
  const own = { ...new FakeClient(ROUTER), via: undefined } as unknown as FakeClient
  t.equal(rules.choose(own, amount(1000)).mode, 'direct', 'what runs in this process is shown all')
})
