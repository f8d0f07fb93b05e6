import t from 'tap'
import type { Problem } from '../../../src/config/types.js'
import { troublesIn } from '../../../src/control/api/troubles.js'
import { cause } from '../../../src/diagnostics/explain.js'
import type { ProxyStatus, ServerStatus } from '../../../src/telemetry/status/status.js'
import type { Loose } from '../../support/client/raw-client.js'

const server = (more: Partial<ServerStatus>): ServerStatus =>
  ({ name: 'github', state: 'ready', failures: 0, remarks: [], ...more }) as Loose

const troubles = (
  servers: readonly ServerStatus[],
  more: Partial<ProxyStatus> & {
    readonly problems?: readonly Problem[]
    readonly off?: readonly string[]
  } = {},
) => {
  const { problems = [], off = [], config, ...status } = more
  return troublesIn({
    status: () => ({ state: 'ready', pressure: 0, ...status, config, servers }),
    problems: () => problems,
    disabled: () => new Set(off),
    configStatus: () => config,
  } as Loose)
}

const remark = (kind: 'noise' | 'slow' | 'flapping' | 'hangs' | 'limit'): Partial<ServerStatus> => {
  const facts = {
    server: 'github',
    lines: '1 line',
    are: 'is',
    limit: 'calls',
    times: 1,
    count: 3,
    seconds: 5,
  }
  return { remarks: [{ kind, message: 'did it', agoMs: 0, cause: cause(`remark.${kind}`, facts, 'github') }] }
}

const facts = { server: 'github', why: 'it failed', names: 'X', status: 404, command: 'x' }
const lost = (code: Loose, state: ServerStatus['state'] = 'backoff'): Partial<ServerStatus> => ({
  ...{ state, why: 'it failed', cause: cause(code, facts as Loose, 'github') },
})

t.test('each problem of a server has its label and its command', async t => {
  const rows: readonly (readonly [Partial<ServerStatus>, kind: string, command: string])[] = [
    [lost('D030', 'failed'), 'not found', 'mcp-proxy doctor --server github'],
    [lost('D031.exited'), 'exited', 'mcp-proxy logs github'],
    [lost('D031.hangs', 'failed'), 'hangs', 'mcp-proxy logs github'],
    [lost('D036', 'needs-auth'), 'needs-auth', 'mcp-proxy auth login github'],
    [lost('D035.status'), 'HTTP 404', 'mcp-proxy doctor --server github'],
    [lost('D035'), 'unreachable', 'mcp-proxy doctor --server github'],
    [lost('D020.server', 'waiting'), 'waiting', 'mcp-proxy status --env'],
    [lost('D033.server', 'waiting'), 'waiting', 'mcp-proxy connect --workspace DIR'],
    [{ ...lost('D031.exited', 'starting'), failures: 2, why: undefined }, 'exited', 'mcp-proxy logs github'],
    [{ state: 'starting', ...remark('hangs') }, 'hangs', 'mcp-proxy logs github'],
    [remark('noise'), 'noise', 'mcp-proxy logs github'],
    [remark('slow'), 'slow', 'mcp-proxy why github'],
    [remark('flapping'), 'flapping', 'mcp-proxy logs github'],
    [remark('limit'), 'limit', 'mcp-proxy why github'],
  ]
  for (const [more, kind, command] of rows)
    t.match(troubles([server(more)]), [{ about: 'github', server: 'github', kind, command }], kind)
  for (const state of ['ready', 'idle', 'draining', 'starting'] as const)
    t.same(troubles([server({ state })]), [], state)
})

t.test('a problem and a remark with the same label are one problem', async t => {
  const found = troubles([server({ ...lost('D031.hangs', 'failed'), ...remark('hangs') })])
  t.match(found, [{ level: 'bad', kind: 'hangs', words: 'it failed' }])
  t.equal(found.length, 1)
})

t.test('a server that the file disables is no problem, but one that was disabled at run time is', async t => {
  const config = { file: 'mcp.json', disabled: ['a'] } as Loose
  t.match(troubles([], { off: ["it's"], config }), [
    { level: 'odd', kind: 'disabled', command: String.raw`mcp-proxy enable 'it'\''s'` },
    { level: 'meant', kind: 'disabled', command: 'mcp-proxy enable a' },
  ])
})

t.test('a server that waits for a variable reports it once', async t => {
  const problem: Problem = {
    ...{ id: 'D020', severity: 'warning', file: 'mcp.json', line: 3, column: 5, facts: { variable: 'X' } },
    ...{ key: 'mcpServers.github.env.X', message: 'the variable X is not set', fix: 'Set it' },
  }
  const found = troubles([server(lost('D020.server', 'waiting'))], { problems: [problem] })
  t.match(found, [{ kind: 'waiting' }])
  t.equal(found.length, 1)
})

t.test('problems of the proxy and of the file precede remarks', async t => {
  const problem: Problem = {
    ...{ id: 'D010', severity: 'error', file: 'mcp.json', line: 3, column: 5 },
    ...{ key: 'mcpServers.notes.command', message: 'must be a text', fix: 'Write one' },
  }
  const config = { file: 'mcp.json', lastReload: { result: 'refused', at: '', problems: [] } } as Loose
  const problems = [problem, { ...problem, severity: 'warning' as const, line: 0, key: 'limits.x' }]
  t.match(troubles([server(remark('noise'))], { state: 'draining', pressure: 3, config, problems }), [
    { kind: 'draining', about: 'proxy' },
    { kind: 'memory', words: 'memory is short (level 3 of 4)' },
    { kind: 'reload refused', command: 'mcp-proxy check' },
    {
      ...{ about: 'notes', server: 'notes', view: 'servers', kind: 'misconfigured' },
      command: 'mcp-proxy check',
      words: 'must be a text. Write one (mcp.json:3:5)',
    },
    { about: 'configuration', level: 'odd', words: /\(mcp\.json\)$/ },
    { kind: 'noise', level: 'odd' },
  ])
})
