import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { LogFile } from '../../src/control/daemon/log-file.js'
import {
  counterProof,
  decodeHello,
  decodeRefusal,
  decodeWelcome,
  encodeHello,
  encodeWelcome,
  isNewer,
  isProven,
  newProof,
} from '../../src/shim/hello.js'
import { abandonedDrafts, StartLock } from '../../src/shim/lock.js'
import { type HostMachine, placeId, placeOf, preparePlace, thisPlace } from '../../src/shim/place.js'
import { skipWithout } from '../support/processes.js'

const LINUX: HostMachine = {
  platform: 'linux',
  home: '/home/a',
  user: 'a',
  uid: 7,
  isElevated: false,
  at: 'here',
}
const WINDOWS: HostMachine = { ...LINUX, platform: 'win32', home: 'C:\\Users\\a', user: 'a b' }

t.test('a proxy is met where no variable of a shell or a desktop moves it', async t => {
  const env = { HOME: '/elsewhere', TMPDIR: '/x', XDG_STATE_HOME: '/y', XDG_RUNTIME_DIR: '/z' }
  const run = '/home/a/.local/state/mcp-proxy/run'
  t.same(placeOf('id', env, LINUX), {
    id: 'id',
    socket: `${run}/id.sock`,
    lock: `${run}/id.lock`,
    facts: `${run}/id.json`,
    log: '/home/a/.local/state/mcp-proxy/log/id.log',
    token: undefined,
  })
  const moved = placeOf('id', { MCP_PROXY_RUN_DIR: '/r/run' }, LINUX)
  t.match(moved, { socket: '/r/run/id.sock', log: '/r/log/id.log' })
  const deep = placeOf('id', { MCP_PROXY_RUN_DIR: `/${'x'.repeat(100)}/run` }, LINUX)
  t.equal(deep.socket, '/tmp/mcp-proxy-7/id.sock', 'a path that is too long for a socket')
  t.match(deep.lock, /^\/x+\/run\/id.lock$/, 'moves the socket only')
  const pipe = placeOf('id', { LOCALAPPDATA: 'C:\\L' }, WINDOWS)
  t.equal(pipe.socket, '\\\\.\\pipe\\mcp-proxy-a_b-id')
  t.match(pipe.token, /id\.token$/)
  t.equal(placeOf('id', {}, { ...WINDOWS, isElevated: true }).socket, '\\\\.\\pipe\\mcp-proxy-a_b-admin-id')
})

t.test('a file has one proxy, through any link', { skip: skipWithout.links }, async t => {
  const folder = t.testdir({ real: { 'mcp.json': '{}', 'other.json': '{}' } })
  const link = join(folder, 'link')
  symlinkSync(join(folder, 'real'), link, 'junction')
  const file = join(folder, 'real', 'mcp.json')
  const id = placeId(file, 'here')
  t.equal(placeId(join(link, 'mcp.json'), 'here'), id, 'by any path of its folder')
  t.not(placeId(join(folder, 'real', 'other.json'), 'here'), id)
  t.not(placeId(file, 'there'), id)
  rmSync(file)
  t.equal(placeId(file, 'here'), id, 'though it is gone')
  symlinkSync(join(folder, 'real', 'other.json'), file)
  t.equal(placeId(file, 'here'), id, 'though it has become a link')
  renameSync(join(folder, 'real'), join(folder, 'moved'))
  t.equal(placeId(file, 'here'), id, 'though its folder is gone')
})

t.test('the place of a proxy does not depend on the host name', async t => {
  t.notMatch(thisPlace(), hostname())
  t.equal(thisPlace(), thisPlace())
})

t.test('the folders of a place are closed to others', { skip: skipWithout.modes }, async t => {
  const run = join(t.testdir(), 'run')
  mkdirSync(run, { mode: 0o755 })
  const place = placeOf('id', { MCP_PROXY_RUN_DIR: run })
  preparePlace(place)
  t.equal(statSync(run).mode & 0o777, 0o700)
  t.equal(statSync(join(run, '../log')).mode & 0o777, 0o700)
})

t.test('a place where no folder can be made is none', { skip: skipWithout.proc }, async t => {
  const place = placeOf('id', { MCP_PROXY_RUN_DIR: '/proc/nowhere/run' })
  t.throws(() => preparePlace(place), { code: 'ENOENT' })
})

t.test('one program at a time may start a proxy', async t => {
  const file = join(t.testdir(), 'id.lock')
  const lock = StartLock.take(file)
  t.equal(StartLock.take(file), undefined)
  t.equal(StartLock.adopt(file, 'another key'), undefined)
  const adopted = StartLock.adopt(file, lock?.key ?? '')
  t.match(JSON.parse(readFileSync(file, 'utf8')), { pid: process.pid, key: lock?.key })
  adopted?.release()
  t.same(readdirSync(t.testdirName), [], 'nothing is left')
  StartLock.take(file)
  lock?.release()
  t.same(readdirSync(t.testdirName), ['id.lock'], 'a lock of somebody else stays')
})

t.test('a draft of a lock that its writer left is removed with the next lock', async t => {
  const file = join(t.testdir({ 'id.lock.old': '{}', 'id.lock.new': '{}', 'id.sock': '' }), 'id.lock')
  const before = new Date(Date.now() - 60_000)
  for (const name of ['id.lock.old', 'id.sock']) utimesSync(join(t.testdirName, name), before, before)
  t.same(abandonedDrafts(file), [`${file}.old`])
  StartLock.take(file)?.release()
  t.same(
    readdirSync(t.testdirName).sort(),
    ['id.lock.new', 'id.sock'],
    'but one that is being written is not',
  )
})

t.test('a lock ends with its holder, or with its time', async t => {
  const file = join(t.testdir(), 'id.lock')
  const time = Date.now()
  const minute = 60_000
  const rows: readonly (readonly [content: string, ageMs: number, isHeld: boolean])[] = [
    [JSON.stringify({ pid: process.pid, time, key: 'k' }), 0, true],
    [JSON.stringify({ pid: process.pid, time, key: 'k' }), minute, false],
    [JSON.stringify({ pid: process.pid, time: 1, key: 'k' }), 0, false],
    [JSON.stringify({ pid: 4_194_303, time, key: 'k' }), 0, false],
    ['', 0, true],
    ['', minute, false],
    ['[]', minute, false],
    // Of a clock that was set back since.
    [JSON.stringify({ pid: process.pid, time: time + minute, key: 'k' }), 0, false],
    [JSON.stringify({ pid: process.pid, time, key: 'k' }), -minute, false],
    ['', -minute, false],
  ]
  for (const [content, ageMs, isHeld] of rows) {
    writeFileSync(file, content)
    const madeAt = new Date(Date.now() - ageMs)
    if (ageMs !== 0) utimesSync(file, madeAt, madeAt)
    const lock = StartLock.take(file)
    t.equal(lock === undefined, isHeld, `${content} ${ageMs}`)
    lock?.release()
  }
})

t.test('the facts of both sides survive the handshake, and nothing else does', async t => {
  const hello = { version: '1.2.3', pid: 4, client: 'ü', view: 'v', workspace: '/p', cwd: '/q' }
  t.match(decodeHello(encodeHello(hello)), hello)
  for (const text of [undefined, '', '!', encodeHello({ version: 1, pid: 'x' } as never)])
    t.equal(decodeHello(text), undefined)
  const welcome = { version: '1', pid: 2, session: 'k3', want: ['A'], kept: 'ümlaut' }
  t.match(encodeWelcome(welcome), /^[ -~]+$/, 'in ASCII, as a header must be')
  t.match(decodeWelcome(encodeWelcome(welcome)), welcome)
  t.equal(decodeWelcome('{"version":"1"}'), undefined)
  t.same(decodeRefusal('{"no":"busy","say":"x","retryMs":5}'), { no: 'busy', say: 'x', retryMs: 5 })
  t.same(decodeRefusal('<html>'), {})
})

t.test('a hello fits the head of a request, however long the paths in it are', async t => {
  const long = `/${'ü'.repeat(2000)}`
  const hello = { version: '1.2.3', pid: 4, view: 'v', workspace: long, project: long, cwd: long }
  const left = encodeHello({ ...hello, client: 'cursor' })
  t.ok(left.length < 7.5 * 1024)
  t.match(decodeHello(left), { view: 'v', workspace: long, client: 'cursor', cwd: undefined })
  t.match(decodeHello(encodeHello({ ...hello, client: long.repeat(2) })), { workspace: long })
})

t.test('where a token proves whose a pipe is, both sides must know it', async t => {
  const [token, other] = [Buffer.from('one'), Buffer.from('two')]
  const hello = newProof(token)
  t.ok(isProven(token, 'client', hello))
  t.notOk(isProven(other, 'client', hello))
  t.notOk(isProven(token, 'client', {}))
  t.ok(isProven(undefined, 'client', {}), 'where there is none nothing needs to be proved')
  const answer = { ...hello, ...counterProof(token, hello) }
  t.ok(isProven(token, 'daemon', answer))
  t.notOk(isProven(token, 'client', answer), 'an answer is no hello')
  t.notOk(isProven(token, 'daemon', { ...hello, ...counterProof(other, hello) }))
})

t.test('releases are compared by their numbers', async t => {
  const newer = [
    ['0.2.0', '0.1.9'],
    ['0.10.0', '0.9.0'],
    ['1.0.0', '0.99.99'],
    ['1.0.1-rc.1', '1.0.0'],
  ] as const
  for (const [one, other] of newer) {
    t.ok(isNewer(one, other), `${one} ${other}`)
    t.notOk(isNewer(other, one))
  }
  t.notOk(isNewer('1.0.0', '1.0.0-rc.1'), 'a build of the same release is the same')
  t.notOk(isNewer('nonsense', '1.0.0'))
})

t.test('the log of a daemon is a file and the two before it', async t => {
  const path = join(t.testdir(), 'id.log')
  const log = new LogFile(path, 10)
  for (const line of ['first\n', 'second\n', 'third\n', 'fourth\n', 'fifth\n', 'sixth\n', '7\n'])
    log.write(line)
  t.same(readdirSync(t.testdirName).sort(), ['id.log', 'id.log.1', 'id.log.2'])
  t.equal(readFileSync(path, 'utf8'), '7\n')
  t.equal(readFileSync(`${path}.1`, 'utf8'), 'fifth\nsixth\n')
  new LogFile(join(path, 'nowhere', 'id.log')).write('lost\n')
})
