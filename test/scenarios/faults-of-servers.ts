import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Answer, type Loose, probe, RawClient } from '../support/client/raw-client.js'
import { isWindows, KILLED, until } from '../support/processes.js'
import { peakMiB, rawServer, startDaemon } from '../support/proxy/start.js'
import { startHostileRemote } from '../support/server/hostile-remote.js'

const CHILD = fileURLToPath(new URL('../fixtures/hostile-child.mjs', import.meta.url))
const child = (mode: string, more: object = {}) => ({
  command: process.execPath,
  args: [CHILD, mode],
  ...more,
})
const quick = { timeouts: { call: '400ms', list: '400ms', connect: '5s' } }

const textOf = ({ last }: Answer): string => String(last.message.result?.content?.[0]?.text)
const errorOf = ({ last }: Answer): string => String(last.message.error?.message)

/**
 * What a call of the tool `bad` comes to: its text, or its error, which names the server that is to blame.
 */
type Comes = { readonly text: RegExp } | { readonly error: RegExp }
const right: Comes = { text: /^right$/ }
const blames = (why: RegExp): Comes => ({ error: why })

interface Fault {
  readonly entry?: object
  readonly bad: Comes
  /** Whether its tool `ok` works afterwards. */
  readonly recovers?: boolean
}

const FAULTS: Readonly<Record<string, Fault>> = {
  'is-not-there': {
    entry: { command: '/no/such/program' },
    bad: blames(/command not found/),
    recovers: false,
  },
  'may-not-be-run': {
    entry: { command: CHILD, args: [] },
    bad: blames(/permission denied/),
    recovers: false,
  },
  'dies-at-start': { bad: blames(/exited with code 3/), recovers: false },
  'dies-when-ready': { bad: blames(/exited with code 4/), recovers: false },
  'dies-mid-call': { bad: blames(/exited with code 9/) },
  'is-killed-mid-call': { bad: blames(new RegExp(KILLED)) },
  'hangs-in-initialize': {
    entry: { timeouts: { connect: '500ms' } },
    bad: blames(/No answer to initialize within/),
    recovers: false,
  },
  'speaks-nonsense': { bad: blames(/1999-01-01/), recovers: false },
  'never-answers': { entry: quick, bad: blames(/Timed out/) },
  'answers-late': { entry: quick, bad: blames(/Timed out/) },
  'answers-twice': { bad: right },
  'unknown-id': { bad: right },
  'string-id': { bad: right },
  'null-id': { bad: right },
  'both-result-and-error': { bad: blames(/malformed/) },
  'no-result-nor-error': { bad: blames(/malformed/) },
  'result-null': { bad: blames(/other than an object/) },
  'result-array': { bad: blames(/other than an object/) },
  'error-text': { bad: blames(/malformed/) },
  'error-null': { bad: blames(/malformed/) },
  'wrong-jsonrpc': { bad: blames(/malformed/) },
  'content-null': { bad: { text: /undefined/ } },
  'content-of-nonsense': { bad: { text: /5/ } },
  banners: { bad: right },
  'half-lines': { bad: right },
  'half-line-and-death': { bad: blames(/exited with code 0|malformed/) },
  crlf: { bad: right },
  bom: { bad: right },
  nul: { bad: blames(/malformed/) },
  'invalid-utf8': { bad: { text: /^r\ufffd+$/ } },
  // It may be slow to write so much: its end is waited for only some seconds.
  'huge-line': { bad: blames(/longer than|too long, and did not end/) },
  'huge-line-id-last': { bad: blames(/longer than|too long, and did not end/) },
  'deep-json': { bad: blames(/nested deeper than 512 levels.*limits\.depth/) },
  'repeated-members': { bad: blames(/malformed/) },
  'repeated-id': { bad: blames(/malformed/) },
  'an-array': { bad: right },
  'broken-json': { bad: blames(/malformed/) },
  'proto-keys': { bad: right },
  'floods-progress': { bad: right },
  'floods-logs': { bad: right },
  'floods-changes': { bad: right },
  'floods-nonsense': { bad: right },
  'floods-stderr': { bad: right },
  'floods-questions': { bad: right },
  'asks-unasked': { entry: quick, bad: blames(/Timed out/) },
  'asks-after-the-end': { bad: right },
  'asks-with-repeated-id': { bad: right },
  'closes-stdout': { bad: blames(/closed its output/) },
  // Node on Windows keeps a second handle of its stdin: nobody hears that it is closed (libuv,
  // `uv_pipe_open`).
  'closes-stdin': { entry: quick, bad: blames(/closed its input|Timed out/), recovers: !isWindows },
  'reads-no-more': { entry: quick, bad: blames(/Timed out/), recovers: false },
  'changes-its-tools': { bad: right },
  'progress-goes-back': { bad: right },
  'odd-names': { bad: blames(/Unknown tool/) },
  'odd-items': { bad: blames(/Unknown tool/) },
  'pages-for-ever': { entry: quick, bad: right },
  'repeats-a-cursor': { bad: right },
  'list-is-no-list': { bad: blames(/Unknown tool/), recovers: false },
  'list-is-null': { bad: blames(/tools.list failed/), recovers: false },
  'answers-no-list': { entry: quick, bad: blames(/answer/), recovers: false },
  'banner-at-start': { bad: right },
  'ignores-everything': { bad: right },
  'leaves-a-grandchild': { bad: right },
}

/** What the daemon may need beside 60 MiB of its own: a message of 64 MiB or two on their way. */
const PEAK_MIB = 600

/** Has each of these servers do its worst, with a healthy one beside them. */
const together = async (
  t: Test,
  faults: Readonly<Record<string, Fault>>,
  entryOf: (name: string) => object,
) => {
  const servers = Object.entries(faults).map(
    ([name, { entry }]) => [name, { ...entryOf(name), ...entry }] as const,
  )
  const all = { good: rawServer(), ...Object.fromEntries(servers) }
  const daemon = await startDaemon(t, all, { startupWait: '1s' })
  const [client, neighbour] = [new RawClient(daemon.url), new RawClient(daemon.url)]
  await Promise.all([client.initialize({ sampling: {} }), neighbour.initialize()])
  await client.listen()
  const stop = probe(t, neighbour)
  for (const [name, { bad, recovers = true }] of Object.entries(faults)) {
    await t.test(name, async t => {
      const answer = await client.call(`bad-${name}`, `${name}__bad`, '{}', { progressToken: name })
      if ('text' in bad) t.match(textOf(answer), bad.text, answer.last.text.slice(0, 300))
      else {
        t.match(errorOf(answer), bad.error)
        t.match(errorOf(answer), name, 'the error names the server')
      }
      if (!recovers) return
      // A server that is coming back may not be there at once.
      const works = async () =>
        textOf(await client.call(`ok-${name}`, `${name}__ok`, '{"a":1}')) === '{"a":1}'
      await until(works, `${name} works again`)
    })
  }
  await stop()
  const { tools } = (await neighbour.request('tools/list')).last.message.result
  t.ok(
    tools.some((tool: Loose) => tool.name === 'good__echo'),
    'nor is the list spoiled',
  )
  const peak = peakMiB(daemon.child.pid) ?? 0
  t.ok(peak < PEAK_MIB, `memory stays bounded: ${Math.round(peak)} MiB at most`)
  t.equal((await daemon.status()).calls, 0, 'no call is left')
  client.vanish()
  neighbour.vanish()
  t.same(await daemon.stop(), { code: 0, left: [] }, 'nor is any process')
}

/** So many at a time: together they would need a large machine. */
const GROUPS = 4
for (let group = 0; group < GROUPS; group += 1) {
  const members = Object.entries(FAULTS).filter((_, index) => index % GROUPS === group)
  t.test(`misbehaving programs harm only themselves: part ${group + 1}`, async t => {
    await together(t, Object.fromEntries(members), child)
  })
}

// ── servers that run elsewhere ──

const slow = { timeouts: { connect: '600ms', call: '600ms', list: '600ms' } }
const never = (why: RegExp, more: object = {}): Fault => ({ bad: blames(why), recovers: false, entry: more })

const REMOTE: Readonly<Record<string, Fault>> = {
  refuses: never(/connection refused/),
  'resets-at-once': never(/cannot|connection/),
  'never-speaks': never(/did not reveal|No answer|within/, slow),
  'hangs-before-headers': never(/did not reveal|No answer|within/, slow),
  'hangs-after-headers': never(/did not reveal|No answer|within/, slow),
  'redirects-here': { bad: { text: /^\{\}$/ } },
  'redirects-elsewhere': never(/307/),
  'redirects-in-circles': never(/redirects more than/),
  'redirects-inwards': never(/307/),
  'answers-html': never(/neither JSON/),
  'answers-nothing': never(/./),
  'answers-500': never(/500/),
  'answers-503': never(/503/),
  'asks-for-a-token': never(/refused the token in the configuration/),
  'giant-header': never(/./),
  'no-http': never(/./),
  'hangs-up': never(/./),
  'endless-body': never(/longer than/),
  'endpoint-elsewhere': never(/./, { type: 'sse' }),
  'hangs-in-body': { bad: blames(/Timed out/), entry: slow },
  drips: { bad: blames(/Timed out/), entry: slow },
  truncates: { bad: blames(/./) },
  'cuts-json': { bad: blames(/./) },
  'ends-mid-event': { bad: blames(/./) },
  'ends-without-answer': { bad: blames(/./) },
  'breaks-mid-event': { bad: blames(/./) },
  'endless-event': { bad: blames(/longer than/) },
  gzip: { bad: blames(/./) },
  'loses-sessions': { bad: right },
  'accepts-only': { bad: blames(/./) },
  'answers-another': { bad: right },
  'fails-calls': { bad: blames(/502/) },
  'says-too-many': { bad: blames(/429/) },
  'resets-calls': { bad: blames(/./) },
  'floods-events': { bad: right },
}

t.test('misbehaving remote servers harm only themselves', async t => {
  const remote = await startHostileRemote(t)
  const headers = { Authorization: 'Bearer hunter2hunter2' }
  await together(t, REMOTE, name => ({ type: 'http', url: remote.url(name), headers }))
  t.same(
    remote.seen.filter(line => line.startsWith('elsewhere')),
    [],
    'nobody else was asked for anything, with our credentials or without',
  )
})
