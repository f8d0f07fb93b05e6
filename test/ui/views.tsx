import { render } from 'preact-render-to-string'
import t from 'tap'
import type { ClientsView, ConfigView } from '../../src/control/api/views.js'
import { type PageRoute, parseRoute, routePartsOf } from '../../src/ui/live/route.js'
import { NOTHING, type PageState } from '../../src/ui/live/state.js'
import { age, bytes, clockTime, ms } from '../../src/ui/parts/format.js'
import { withToggled } from '../../src/ui/parts/query.js'
import { joined } from '../../src/ui/parts/repeats.js'
import { Offered } from '../../src/ui/parts/sign-in.js'
import { afterClick, sortedBy } from '../../src/ui/parts/sorting.js'
import { Sparkline, sentenceOf } from '../../src/ui/parts/sparkline.js'
import { rowAfter, Table, windowOf } from '../../src/ui/parts/table.js'
import { WhyPanel } from '../../src/ui/parts/why.js'
import { callsWith } from '../../src/ui/views/calls.js'
import { errorsWith, sameness } from '../../src/ui/views/errors.js'
import { failuresIn } from '../../src/ui/views/failures.js'
import { actionOf } from '../../src/ui/views/keys.js'
import { humanName, limitRows } from '../../src/ui/views/limits.js'
import { joinedLines, logLine } from '../../src/ui/views/log.js'
import { allSlots, inFlightText, perMinute } from '../../src/ui/views/overview.js'
import { PageFrame } from '../../src/ui/views/page.js'
import { hiddenText, leftOutText, listText } from '../../src/ui/views/server.js'
import { chosenTheme } from '../../src/ui/views/theme.js'
import { call, server, servers, slots, state, status, trouble } from './facts.js'

const MARKUP = '<img src=x onerror=alert(1)>'

const sessionStorage: Record<string, string> = {}
Object.assign(globalThis, { localStorage: { getItem: () => null }, sessionStorage })

const shown = (hash: string, more: Partial<PageState> = {}): string =>
  render(<PageFrame state={state(more)} route={parseRoute(hash)} news="" onRetry={() => undefined} />)

const config: ConfigView = JSON.parse(
  JSON.stringify({
    version: 1,
    file: {
      file: '/etc/mcp.json',
      generation: 1,
      loadedAt: '2026-11-23T10:00:00Z',
      lastReload: { result: 'refused', at: '', problems: [] },
    },
    problems: [
      {
        severity: 'warning',
        file: '/etc/mcp.json',
        line: 4,
        column: 2,
        key: '',
        message: MARKUP,
        fix: 'Fix it',
      },
    ],
    config: { limits: { body: 16_777_216, calls: 16_384 }, servers: [{ name: MARKUP }] },
  }),
)

t.test('every view shows its data, without interpreting markup', async t => {
  const error = { id: 'abcd-1', at: '', code: -32603, message: MARKUP, name: MARKUP, stderr: [MARKUP], ms: 3 }
  const clients: ClientsView = {
    version: 1,
    clients: [
      {
        id: 4,
        name: MARKUP,
        version: '1',
        revision: '2025-11-25',
        transport: 'http',
        principal: 'local',
        calls: 1,
        queuedBytes: 0,
        view: 'all',
        tools: { mode: 'search', why: '900 tools, and it takes 40' },
      },
    ],
  }
  const all: Partial<PageState> = {
    ...{ clients, config, errors: [error], calls: [call(1, { name: MARKUP, errorId: 'abcd-1' })] },
    inFlight: [
      {
        client: 4,
        clientName: MARKUP,
        method: 'tools/call',
        server: 'github',
        name: MARKUP,
        where: 'waiting',
        ms: 1500,
      },
    ],
    servers: servers(
      [
        server({
          state: 'failed',
          why: MARKUP,
          lastFault: { id: 'abcd-1', message: MARKUP, at: '' },
          stderr: [MARKUP],
        }),
        { name: MARKUP, state: 'disabled', where: 'here' },
      ],
      [],
      [trouble({ words: MARKUP, kind: 'unreachable', command: 'mcp-proxy doctor --server github' })],
    ),
  }
  const rows: readonly (readonly [hash: string, says: RegExp])[] = [
    [
      '#/',
      /Problems.*github.*unreachable.*mcp-proxy doctor --server github.*In flight.*waiting for its server/s,
    ],
    ['#/servers', /role="table" aria-label="Servers".*failed/s],
    ['#/servers/github', /Restart.*Facts.*2025-11-25.*abcd-1/s],
    ['#/servers/nobody', /No server is called nobody/],
    [`#/servers/${encodeURIComponent(MARKUP)}`, /Enable/],
    ['#/tools', /Loading the list/],
    ['#/tools/x', /Why/],
    ['#/calls', /1 call of the last 512.*Outcome/s],
    ['#/calls?nothing', /No matching calls/],
    ['#/clients', /http.*2025-11-25.*search.*900 tools, and it takes 40/s],
    ['#/errors', /1 error of the last 1,000/],
    ['#/errors?nothing', /No matching errors/],
    ['#/errors/abcd-1', /abcd-1<\/h2>.*-32603.*Server output before the error/s],
    ['#/limits', /Memory pressure.*16,777,216/s],
    ['#/configuration', /\/etc\/mcp\.json:4:2.*without secrets/s],
  ]
  for (const [hash, says] of rows) {
    const html = shown(hash, all)
    t.match(html, says, hash)
    t.notMatch(html, /<img/, `${hash} has no markup`)
    t.match(html, /<nav aria-label="Views">.*aria-current="page".*<main id="main"/s)
    t.equal(html.match(/role="status"/g)?.length, 1, 'one live region')
  }
})

t.test('an empty view suggests the next step', async t => {
  const none: Partial<PageState> = {
    servers: servers([]),
    clients: { version: 1, clients: [] },
    ...{ calls: [], errors: [], config: { ...config, file: undefined, problems: [] } },
  }
  const rows: readonly (readonly [hash: string, says: RegExp])[] = [
    ['#/', /No server is configured.*mcp-proxy init/s],
    ['#/servers', /No server is configured/],
    ['#/calls', /No calls yet/],
    ['#/clients', /mcp-proxy install/],
    ['#/errors', /No errors/],
    ['#/configuration', /No configuration file.*No problems/s],
  ]
  for (const [hash, says] of rows) t.match(shown(hash, none), says, hash)
  for (const hash of [
    '#/',
    '#/servers',
    '#/servers/x',
    '#/calls',
    '#/clients',
    '#/errors',
    '#/limits',
    '#/configuration',
  ])
    t.match(
      render(<PageFrame state={NOTHING} route={parseRoute(hash)} news="" onRetry={() => undefined} />),
      /Loading …|No /,
      hash,
    )
  t.match(shown('#/'), /No problems found/)
})

t.test('a page that is refused, or has lost the proxy, reports it', async t => {
  const out = shown('#/', { link: { is: 'signed-out', why: 'the code is wrong' } })
  t.match(out, /the code is wrong.*mcp-proxy ui/s)
  t.notMatch(out, /github/, 'and shows nothing')
  t.match(shown('#/', { link: { is: 'signed-out', why: '' } }), /Sign-in required/)
  const lost = shown('#/', { link: { is: 'lost', why: 'the proxy does not answer', retryAt: 1_004_000 } })
  t.match(lost, /Connection lost.*the proxy does not answer.*Next attempt in 4 s.*Try now/s)
})

t.test('of a long table only what is in sight is in the document', async t => {
  t.same(windowOf(10, 32, 0, 800), { from: 0, to: 10 })
  t.same(windowOf(10_000, 32, 0, 800), { from: 0, to: 37 })
  t.same(windowOf(10_000, 32, 32_000, 32_800), { from: 988, to: 1037 })
  t.same(windowOf(10_000, 32, 999_999, 1_000_800), { from: 9999, to: 10_000 })
  t.same(windowOf(10_000, 0, 0, 800), { from: 0, to: 60 }, 'before its height is known')
  const rows = Array.from({ length: 10_000 }, (_, n) => n)
  const html = render(
    <Table
      label="x"
      columns={[{ head: 'N', cell: n => n }]}
      rows={rows}
      keyOf={n => n}
      hrefOf={n => `#${n}`}
    />,
  )
  t.match(html, /aria-rowcount="10001"/)
  t.equal(html.match(/role="row"/g)?.length, 61)
  t.equal(html.match(/tabindex="0"/gi)?.length, 1, 'Tab leads to one row')
  const keys = ['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End', 'x']
  t.same(
    keys.map(key => rowAfter(key, 5, 12)),
    [6, 4, 11, 0, 0, 11, undefined],
  )
})

t.test('a sparkline has a sentence, and a server its words', async t => {
  t.equal(sentenceOf(slots(12, 2)), '12 calls in the last ten minutes, 2 failed, the longest took 40 ms')
  t.equal(sentenceOf(slots()), 'No calls in the last ten minutes')
  t.match(render(<Sparkline slots={slots(12, 2)} />), /role="img" aria-label="12 calls.*M117 24v-24/s)
  t.equal(
    perMinute(
      allSlots(servers([server(), server({ name: 'b' }), { name: 'c', state: 'disabled', where: 'here' }])),
    ),
    6,
  )
  t.equal(listText(server()), '3 tools, 1 resource')
  t.equal(listText(server({ items: undefined })), 'not read yet')
  t.equal(
    listText(server({ items: { tools: 0, prompts: 0, resources: 0, templates: 0, skills: 0 } })),
    'nothing',
  )
  const left = server({ leftOut: { filter: 2, broken: 1, twice: 0 }, truncated: ['tools'] })
  t.equal(leftOutText(left), '2 hidden by a filter, 1 broken, the list of tools was truncated at a limit')
})

t.test('calls and errors are found by their words, the newest first', async t => {
  const calls = [call(1), call(2, { outcome: 'timeout', client: 9 }), call(3)]
  t.same(
    callsWith(calls, '').map(({ n }) => n),
    [3, 2, 1],
  )
  t.same(
    callsWith(calls, 'TIMEOUT client 9').map(({ n }) => n),
    [2],
  )
  const errors = [{ id: 'a-1', at: '', code: 1, message: 'No answer', server: 'x' }]
  t.equal(errorsWith(errors, 'answer x').length, 1)
  t.equal(errorsWith(errors, 'y').length, 0)
  const limits = limitRows(state({ config, status: status({ limits: { calls: { hits: 2, agoMs: 500 } } }) }))
  t.match(limits, [
    { name: 'calls', hits: 2, agoMs: 500 },
    { name: 'body', hits: 0 },
  ])
})

t.test('requests that reach no server count as failed, also in the sparkline', async t => {
  const view = { ...servers([server({ slots: slots(3, 1) })]), refused: slots(2, 2) }
  t.match(allSlots(view)[58], { calls: 5, errors: 3 })
  t.match(shown('#/overview', { servers: view }), /Failed in 10 min<\/dt><dd[^>]*>3</)
})

t.test('repeated errors and lines of the log are one row with a count', async t => {
  const error = (id: string, message: string) => ({ id, at: '', code: 1, message, server: 'x' })
  t.match(joined([error('a-3', 'no'), error('a-2', 'no'), error('a-1', 'other')], sameness), [
    { id: 'a-3', times: 2 },
    { id: 'a-1', times: 1 },
  ])
  const line = (key: string, text: string) => ({ key, time: key, level: 'warn', text }) as const
  t.match(joinedLines([line('1', 'x'), line('2', 'x'), line('3', 'y')]), [
    { key: '2', time: '2', times: 2 },
    { text: 'y', times: 1 },
  ])
  const errors = ['a-1', 'a-2', 'a-3'].map(id => error(id, 'could not reach a server'))
  const html = shown('#/errors', { errors })
  t.match(html, /3 ×.*could not reach a server/)
  t.equal(html.split('could not reach a server').length, 2)
})

t.test(
  'calls name clients that have left, and keep the id of their error where there is little room',
  async t => {
    const calls = [call(1, { clientName: 'cursor', errorId: 'a1b2-7', outcome: 'unavailable' }), call(2)]
    const html = shown('#/calls', { calls })
    t.match(html, /cursor.*client 4|client 4.*cursor/s)
    t.match(html, /<span class="cell" role="cell"><a href="#\/errors\/a1b2-7">a1b2-7/)
  },
)

t.test('limits have names in words, servers come first, and a server tells its last error', async t => {
  t.equal(humanName('callsPerServer'), 'calls per server')
  const html = shown('#/configuration', { config })
  t.ok(html.indexOf('&quot;servers&quot;') < html.indexOf('&quot;limits&quot;'))
  t.match(html, /aria-label="Servers in the file".*github.*ready.*npx -y server-github.*>12<.*in-force/s)
  const lastError = { message: 'exited with code 3', agoMs: 4000 }
  const one = server({ lastError, hidden: ['secret'], leftOut: { filter: 3, broken: 0, twice: 0 } })
  t.equal(hiddenText(one), 'secret, 2 more')
  t.match(
    shown('#/servers/github', { servers: servers([one]) }),
    /secret, 2 more.*exited with code 3 \(4 s ago\)/s,
  )
  t.match(
    shown('#/servers', { servers: servers([one]) }),
    /stdio.*2025-11-25.*last error: exited with code 3/s,
  )
})

t.test('a log line shows the output of a program, or a message of the proxy about it', async t => {
  t.match(logLine('1', '{"level":30,"time":0,"stderr":"hello","msg":"x"}'), { level: 'info', text: 'hello' })
  t.match(logLine('1', '{"level":40,"time":0,"why":"exited","msg":"lost"}'), {
    level: 'warn',
    text: 'lost: exited',
  })
  t.match(logLine('1', '{"level":20,"time":"x","msg":"m"}'), { level: 'debug', time: '', text: 'm' })
  t.match(logLine('1', 'no JSON'), { level: 'info', text: 'no JSON' })
})

t.test('a disabled server shows how to enable it', async t => {
  const words = 'it is disabled until its entry in the file changes'
  const off = (where: 'file' | 'here') => {
    const found = trouble({ about: 'a', server: 'a', level: where === 'file' ? 'meant' : 'odd', words })
    return servers([{ name: 'a', state: 'disabled', where }], [], [found])
  }
  const page = (where: 'file' | 'here') => shown('#/servers/a', { servers: off(where) })
  t.match(page('here'), />Enable</)
  t.match(page('here'), /it is disabled until its entry in the file changes/)
  t.notMatch(page('file'), />Enable</, 'that would last until the file is read again')
  t.match(page('file'), words)
  t.match(shown('#/servers', { servers: off('file') }), 'disabled')
  t.notMatch(shown('#/', { servers: off('file') }), words, 'it is deliberate')
  t.match(shown('#/', { servers: off('here') }), words)
})

t.test('a table sorts by its heads: numbers from the largest, words from the first, then not', async t => {
  const first = afterClick(undefined, 'p99', true)
  const second = afterClick(first, 'p99', true)
  t.same(first, { head: 'p99', order: 'descending' })
  t.same(second, { head: 'p99', order: 'ascending' })
  t.equal(afterClick(second, 'p99', true), undefined)
  t.same(afterClick(second, 'Server', false), { head: 'Server', order: 'ascending' })
  const rows = [{ v: 'b10' }, { v: undefined }, { v: 'b9' }, { v: 'a' }]
  t.same(
    sortedBy(rows, ({ v }) => v, 'descending').map(({ v }) => v),
    ['b10', 'b9', 'a', undefined],
    'what has no value is last',
  )
  t.match(shown('#/servers'), /role="columnheader"[^>]*><button type="button" class="sort">Server</)
})

t.test('a server that fails has its reason in the table, also where there is little room', async t => {
  const words = 'exited with code 1; it last wrote: Error: TOKEN is not set'
  const billing = { name: 'billing', state: 'misconfigured', where: 'file', line: 61 } as const
  const view = servers(
    [server({ state: 'backoff' }), billing],
    [],
    [
      trouble({ words }),
      trouble({ about: 'billing', server: 'billing', words: 'expected a string (mcp.json:61:18)' }),
    ],
  )
  const html = shown('#/servers', { servers: view })
  t.match(
    html,
    /<span class="note" role="cell"><span class="bad">exited with code 1; it last wrote: Error: TOKEN/,
  )
  t.match(html, /billing.*misconfigured.*mcp\.json:61:18/s)
  t.match(shown('#/servers/billing', { servers: view }), /billing<\/h2>.*expected a string/s)
})

t.test('failed calls are listed with their owner, their number and a link to them', async t => {
  const at = (agoMs: number) => new Date(1_000_000 - agoMs).toISOString()
  const calls = [
    call(1, { outcome: 'timeout', at: at(700_000) }),
    call(2, { outcome: 'tool_error', at: at(2000) }),
    call(3, { outcome: 'tool_error', at: at(1000) }),
    call(4, { outcome: 'unavailable', server: 'notes', name: 'add', errorId: 'abcd-9', at: at(0) }),
    call(5, { at: at(0) }),
  ]
  t.match(failuresIn(calls, 1_000_000), [
    { times: 2, last: { n: 3 } },
    { times: 1, last: { n: 4 } },
  ])
  const error = { id: 'abcd-9', at: at(0), code: -32603, message: 'exited with code 1: TOKEN is not set' }
  const html = shown('#/', { calls, errors: [error] })
  t.match(html, /href="#\/calls\?is%3Afailed%20server%3Agithub%20search">2 ×</)
  t.match(html, /href="#\/servers\/notes">notes.*add.*href="#\/errors\/abcd-9".*TOKEN is not set/s)
})

t.test('conditions in the filter select failed calls, slow ones, and those of a server', async t => {
  const calls = [
    call(1, { outcome: 'timeout' }),
    call(2, { ms: 1500 }),
    call(3, { server: 'files', ms: 2000 }),
    call(4, { outcome: 'input_required' }),
  ]
  const found = (query: string, slowMs?: number) => callsWith(calls, query, slowMs).map(({ n }) => n)
  t.same(found('is:failed'), [1])
  t.same(found('is:slow'), [3, 2])
  t.same(found('is:slow', 1800), [3])
  t.same(found('is:slow server:github'), [2])
  t.same(found('server:files search'), [3])
  t.equal(withToggled('search', 'is:failed'), 'search is:failed')
  t.equal(withToggled('search is:failed', 'is:failed'), 'search')
  t.equal(withToggled('server:a x', 'server:b'), 'x server:b')
  const html = shown('#/calls?is%3Aslow', { calls })
  t.match(html, /aria-pressed="false">Failed <span class="muted">1</)
  t.match(html, /aria-pressed="true">Slow \(1\.0 s\) <span class="muted">2</)
  t.match(html, /aria-pressed="false">github <span class="muted">3</)
})

t.test('a server has its command, its place, its restarts, its charts and its latest calls', async t => {
  const one = server({ restarts: 3, restartedMs: 4000, failures: 2, stateMs: 1 })
  const config = { ...{ file: '/etc/mcp.json', generation: 1, loadedAt: '', lastReload: undefined } }
  const html = shown('#/servers/github', {
    servers: servers([one]),
    status: status({ config: { ...config, problems: { errors: 0, warnings: 0 } } }),
    calls: [call(1), call(2, { server: 'other', name: 'not_this' })],
    errors: [{ id: 'abcd-1', at: '', code: 1, message: 'it failed', server: 'github' }],
  })
  t.match(html, /Command<\/dt><dd><code>npx -y server-github<\/code>/)
  t.match(html, /\/etc\/mcp\.json:12/)
  t.match(html, /Restarts<\/dt><dd>3, the last 4 s ago; 2 failures in a row</)
  t.match(html, /Latest errors.*it failed.*Latest calls.*search/s)
  t.notMatch(html, /not_this/)
  t.match(html, /<figcaption>Calls in 10 s, failed in red.*<div class="scale" aria-hidden="true"><span>3</s)
  t.match(
    html,
    /<div class="times" aria-hidden="true"><span>\d\d:\d\d<\/span><span>\d\d:\d\d<\/span><span>now</,
  )
  t.equal(routePartsOf(parseRoute('#/servers/github')), 'status,servers,calls,errors')
})

t.test('a time of another day has its day', async t => {
  t.match(clockTime(new Date().toISOString()), /^\d\d:\d\d:\d\d$/)
  t.match(clockTime('2020-02-03T12:00:00Z'), /^\d Feb \d\d:\d\d$/)
  t.equal(clockTime('never'), 'never')
})

t.test('keys open views, and are ignored while the user types', async t => {
  const at = (hash: string): PageRoute => parseRoute(hash)
  t.same(actionOf('2', at('#/'), false), { open: '#/servers' })
  t.same(actionOf('8', at('#/'), false), { open: '#/configuration' })
  t.same(actionOf('/', at('#/tools'), false), { focus: 'filter' })
  t.same(actionOf('r', at('#/servers/a'), false), { click: 'restart' })
  t.same(actionOf('Escape', at('#/servers/a'), false), { open: '#/servers' })
  t.equal(actionOf('Escape', at('#/servers'), false), undefined)
  t.equal(actionOf('2', at('#/tools'), true), undefined)
  t.same(actionOf('Escape', at('#/tools'), true), { focus: 'main' })
  t.equal(actionOf('9', at('#/'), false), undefined)
  t.equal(chosenTheme('dark'), 'dark')
  t.equal(chosenTheme('<b>'), 'auto')
})

t.test('a verdict names its causes with their places', async t => {
  const html = render(
    <WhyPanel
      why={{
        ...{
          version: 1,
          query: 'a__x',
          kind: 'tool',
          verdict: 'hidden',
          answered: false,
          server: 'a',
          own: 'x',
        },
        causes: [
          {
            verdict: 'hidden',
            code: 'hidden.deny',
            words: 'tools.deny[0]',
            file: 'mcp.json',
            line: 12,
            column: 27,
          },
        ],
      }}
    />,
  )
  t.match(html, /would not be answered.*own name.*mcp\.json:12:27/s)
  const seen = { version: 1, query: 'x', kind: 'tool', verdict: 'shown', answered: true, causes: [] } as const
  t.match(render(<WhyPanel why={seen} />), '<strong>Visible to clients</strong>')
})

t.test('numbers are written for people', async t => {
  t.same([0, 1023, 1536, 5e6, 200 * 1024, 1e13].map(bytes), [
    '0 B',
    '1023 B',
    '1.5 KiB',
    '4.8 MiB',
    '200 KiB',
    '9.1 TiB',
  ])
  t.same([undefined, 0.42, 12, 1234, 95_000].map(ms), ['–', '0.4 ms', '12 ms', '1.2 s', '2 min'])
  t.same([0, 89_000, 3_600_000, 6 * 3_600_000, 3 * 86_400_000].map(age), [
    '0 s',
    '89 s',
    '60 min',
    '6 h',
    '3 d',
  ])
  t.equal(clockTime('no time'), 'no time')
})

t.test('a server that needs a login has a button that leads there', t => {
  const html = shown('#/overview', {
    servers: servers([server({ state: 'needs-auth' })], [], [trouble({ kind: 'needs-auth' })]),
  })
  t.match(html, /<button type="button" aria-label="Sign in at github">Sign in</)
  const command = 'mcp-proxy auth login github'
  t.match(
    render(<Offered offer={{ url: 'http://127.0.0.1:1/oauth/connect/x' }} command={command} />),
    /href="http/,
  )
  t.match(render(<Offered offer={{}} command={command} />), command)
  t.end()
})

t.test('the overview shows how long the oldest call has been in flight', t => {
  t.equal(inFlightText(0, undefined), '0')
  t.equal(inFlightText(3, 1_800_000), '3, oldest 30 min')
  t.end()
})

t.test('commands start with what the user can type where the daemon runs from a clone', async t => {
  t.match(shown('#/servers', { servers: servers([]) }), '<code>mcp-proxy add NAME -- COMMAND</code>')
  sessionStorage['command'] = "node '/a b/bin/mcp-proxy.js'"
  t.teardown(() => delete sessionStorage['command'])
  t.match(
    shown('#/servers', { servers: servers([]) }),
    /<code>node '\/a b\/bin\/mcp-proxy\.js' add NAME -- COMMAND<\/code>/,
  )
  const why = {
    query: 'x',
    version: 1,
    kind: 'error',
    causes: [],
    fix: 'mcp-proxy is old: mcp-proxy daemon restart',
  } as const
  const text = render(<WhyPanel why={{ ...why, verdict: 'shown', answered: true }} />)
  t.match(text, "To do: mcp-proxy is old: node '/a b/bin/mcp-proxy.js' daemon restart.")
})
