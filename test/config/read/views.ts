import t from 'tap'
import { parseConfig } from '../../../src/config/parse.js'

const read = (more: object) => {
  const { config, problems } = parseConfig(
    JSON.stringify({ mcpServers: { a: { command: 'a' } }, ...more }),
    'f',
    {},
  )
  return {
    views: config?.views ?? [],
    clients: config?.clients ?? [],
    expose: config?.expose,
    resultsMax: config?.resultsMax,
    problems: problems.map(({ key, message }) => `${key}: ${message}`),
  }
}

const EMPTY = { servers: [], resources: false, prompts: false }

t.test('a view has its servers, tools, lists and scopes', t => {
  const { views, problems } = read({
    views: { web: { servers: ['a'], tools: { deny: ['x*'] }, resources: false, expose: 'search' }, all: {} },
  })
  t.strictSame(problems, [])
  t.match(views[0], { name: 'web', servers: ['a'], tools: { deny: ['x*'] }, resources: false, prompts: true })
  t.strictSame(views[0]?.expose, { mode: 'search' })
  t.match(views[1], { name: 'all', scopes: [], annotations: {} })
  t.equal(views[1]?.servers, undefined)
  t.end()
})

t.test('an unreadable view shows nothing, and reports the cause', t => {
  for (const [view, problem] of [
    [{ tools: { denny: ['x'] } }, 'views.v.tools.denny: unknown key'],
    [{ server: ['a'] }, 'views.v.server: unknown key'],
    [{ xyzzy: 1 }, 'views.v.xyzzy: unknown key'],
    [{ annotations: ['readOnlyHint'] }, 'views.v.annotations: expected an object, found a list'],
    [7, 'views.v: expected an object, found a number'],
  ] as const) {
    const { views, problems } = read({ views: { v: view, other: {} } })
    t.match(views[0], EMPTY)
    t.equal(views[1]?.servers, undefined)
    t.strictSame(problems, [problem])
  }
  t.match(read({ views: { 'No Name': {} } }).views[0], EMPTY)
  t.strictSame(read({ views: [] }).problems, ['views: expected an object, found a list'])
  t.end()
})

t.test('the path of a server card is not a view', t => {
  const { views, problems } = read({ views: { 'server-card': {}, 'server-cards': {} } })
  t.match(views, [EMPTY, { name: 'server-cards' }])
  t.strictSame(problems, [
    'views.server-card: /mcp/server-card is reserved for a description of the server, so no view has this name',
  ])
  t.end()
})

t.test('a client whose view is not there, or cannot be read, sees nothing', t => {
  for (const [client, problem] of [
    [{ view: 'webb' }, 'clients.cursor*.view: unknown view'],
    [{ view: 'zzz' }, 'clients.cursor*.view: unknown view'],
    [{ view: 7 }, 'clients.cursor*.view: expected a string, found a number'],
    [{ veiw: 'web' }, 'clients.cursor*.veiw: unknown key'],
  ] as const) {
    const { views, clients, problems } = read({ views: { web: {} }, clients: { 'cursor*': client } })
    const [{ view } = { view: 'none' }] = clients
    t.match(
      views.find(({ name }) => name === view),
      EMPTY,
    )
    t.strictSame(problems, [problem])
  }
  t.strictSame(read({ clients: { x: { view: 'default', maxTools: 40 } } }).problems, [])
  t.end()
})

t.test('how tools are shown is a mode, or says more', t => {
  t.strictSame(read({ expose: 'auto' }).expose, { mode: 'auto' })
  t.same(read({ expose: { pin: ['a__*'], tokens: 5 } }).expose, { pin: ['a__*'], tokens: 5 })
  t.strictSame(read({}).expose, { tokens: 10_000 })
  t.match(read({ expose: 'all' }).problems, [/^expose: /])
  t.equal(read({ results: { max: 'off' } }).resultsMax, Number.POSITIVE_INFINITY)
  t.equal(read({ results: { max: 5000 } }).resultsMax, 5000)
  t.equal(read({}).resultsMax, 48_000)
  t.end()
})
