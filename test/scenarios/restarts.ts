import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import { createPersonalToken, tokenHash } from '../../src/kernel/secrets/personal-token.js'
import { type Loose, RawClient } from '../support/client/raw-client.js'
import { isWindows } from '../support/processes.js'
import { type Authorized, configWith, JSON_HEADERS, startAuthorized } from '../support/proxy/authorized.js'
import { configFile, type Running, startBin } from '../support/proxy/start.js'

// Clients that never initialize again outlive restarts of `serve`, and no call runs twice.

/** Number of sessions; `RESTART_SESSIONS=200` for a longer run by hand. */
const SESSIONS = Number(process.env['RESTART_SESSIONS'] ?? 30)
/** Calls of each client before and after a restart. */
const CALLS = 2
const COUNTING = fileURLToPath(new URL('../soak/counting-server.mjs', import.meta.url))
const INFO = { name: 'restarts', version: '1' }

/** Calls a tool with a tag; rejects if the call got no result. */
type Call = (tag: string) => Promise<Loose>

const KINDS: readonly ((url: string) => Promise<Call>)[] = [
  async url => {
    const client = new ClientV1(INFO)
    await client.connect(new HttpV1(new URL(url)))
    return tag => client.callTool({ name: 'count__slow', arguments: { tag } })
  },
  async url => {
    const client = new ClientV2(INFO, { versionNegotiation: { mode: 'legacy' } })
    await client.connect(new HttpV2(new URL(url)))
    return tag => client.callTool({ name: 'count__slow', arguments: { tag } })
  },
  async url => {
    const client = new RawClient(url)
    await client.initialize({}, '2025-06-18')
    return async tag => {
      const { status, last } = await client.call(tag, 'count__slow', JSON.stringify({ tag }))
      if (last.message.result === undefined) throw new Error(`HTTP ${status}: ${last.text}`)
      return last.message.result
    }
  },
]

/** Returns the texts of an error and its causes. */
const reasonOf = (thrown: unknown): string =>
  thrown instanceof Error
    ? `${thrown.message} ${(thrown as { code?: string }).code ?? ''} ${reasonOf(thrown.cause)}`
    : ''

/** Nothing listened, or the proxy refused the call before it ran. */
const NOT_RUN = /ECONNREFUSED|HTTP 503|Error POSTing.*shutting down|shutting down/i

interface Tally {
  answered: string[]
  /** Calls that certainly did not run; their clients repeat them under another tag. */
  refused: string[]
  /** Calls that were in flight when the proxy died. */
  lost: string[]
  /** The errors that no client should see. */
  wrong: string[]
}

/** Calls one after the other until `isOver` returns true. */
const work = async (
  call: Call,
  name: string,
  tally: Tally,
  isOver: (done: number) => boolean,
): Promise<void> => {
  for (let [n, done] = [0, 0]; !isOver(done); n += 1) {
    const tag = `${name}-${n}`
    try {
      const { content } = await call(tag)
      if (content?.[0]?.text === tag) tally.answered.push(tag)
      else tally.wrong.push(`${tag}: ${JSON.stringify(content)}`)
      done += 1
    } catch (thrown) {
      const reason = reasonOf(thrown)
      if (/404|Session not found|initialize/.test(reason)) tally.wrong.push(`${tag}: ${reason}`)
      if (NOT_RUN.test(reason)) tally.refused.push(tag)
      else tally.lost.push(tag)
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
}

const serve = async (t: Test, file: string, port = 0): Promise<{ running: Running; url: string }> => {
  const running = startBin(t, ['serve', '--config', file, '--port', String(port)])
  const line = await running.line(/listening on http/)
  return { running, url: line.split(' ').at(-1) ?? '' }
}

const restartUnderLoad = async (t: Test, signal: NodeJS.Signals): Promise<void> => {
  const log = join(t.testdir({}), 'calls.log')
  writeFileSync(log, '')
  const count = { command: process.execPath, args: [COUNTING], env: { COUNT_FILE: log } }
  const file = configFile(t, { count }, { drain: '2s' })
  const first = await serve(t, file)
  const calls = await Promise.all(
    Array.from(
      { length: SESSIONS },
      (_, n) => KINDS[n % KINDS.length]?.(first.url) ?? Promise.reject(new Error()),
    ),
  )
  const tally: Tally = { answered: [], refused: [], lost: [], wrong: [] }
  let isRestarted = false
  const left = new Set(calls.map((_, n) => n))
  const workers = calls.map(async (call, n) => {
    await work(call, `before-${n}`, tally, done => isRestarted && done >= CALLS)
    await work(call, `after-${n}`, tally, done => done >= CALLS)
    left.delete(n)
  })
  while (tally.answered.length < SESSIONS * CALLS) await new Promise(resolve => setTimeout(resolve, 20))
  first.running.child.kill(signal)
  await first.running.exited
  const next = await serve(t, file, Number(new URL(first.url).port))
  isRestarted = true
  await Promise.all(workers)

  const runs = new Map<string, number>()
  for (const tag of readFileSync(log, 'utf8').trim().split('\n')) runs.set(tag, (runs.get(tag) ?? 0) + 1)
  t.same(tally.wrong, [], 'no client has to start again')
  t.same([...left], [])
  t.same(
    [...runs].filter(([, count]) => count > 1),
    [],
    'no call ran twice',
  )
  t.same(
    tally.answered.filter(tag => runs.get(tag) !== 1),
    [],
    'each answered call ran',
  )
  t.same(
    tally.refused.filter(tag => runs.has(tag)),
    [],
    'a refused call did not run',
  )
  if (signal === 'SIGTERM')
    t.same(
      tally.lost.filter(tag => runs.has(tag)),
      [],
      'calls in flight are answered',
    )
  else t.ok(tally.lost.filter(tag => runs.has(tag)).length <= SESSIONS, 'only calls in flight are lost')
  t.comment(
    `${tally.answered.length} answered, ${tally.refused.length} refused, ${tally.lost.length} lost in flight`,
  )
  next.running.child.kill()
  await next.running.exited
}

// Windows has no such signal.
t.test('clients of all SDKs continue after a restart under load', { skip: isWindows }, t =>
  restartUnderLoad(t, 'SIGTERM'),
)
t.test('clients of all SDKs continue after the proxy was killed', t => restartUnderLoad(t, 'SIGKILL'))

t.test(
  'after a restart, a session belongs to its user with any token, until the user is removed',
  async t => {
    const [laptop, phone, other] = [createPersonalToken(), createPersonalToken(), createPersonalToken()]
    const hashed = (...tokens: readonly string[]) =>
      tokens.map(token => ({ hash: `sha256:${tokenHash(token)}` }))
    const people = { alice: { tokens: hashed(laptop, phone) }, bob: { tokens: hashed(other) } }
    const start = () => startAuthorized(t, { people }, { stateDir: join(t.testdirName, 'state') })
    const list = async (proxy: Authorized, id: string, token?: string): Promise<number> => {
      const headers = {
        ...JSON_HEADERS,
        'mcp-session-id': id,
        ...(token && { authorization: `Bearer ${token}` }),
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
      return (await proxy.ask('/mcp', { method: 'POST', headers, body })).status
    }
    t.testdir({})
    const first = await start()
    const id = String((await first.initialize(laptop)).headers['mcp-session-id'])
    await first.proxy.close()

    const next = await start()
    t.equal(await list(next, id, other), 404, 'another user')
    t.equal(await list(next, id), 401, 'no token')
    t.equal(await list(next, id, createPersonalToken()), 401, 'an unknown token')
    t.equal(await list(next, id, phone), 200, 'the same user')
    t.equal(await list(next, id, other), 404)
    next.proxy.reload(configWith({ people: { bob: people.bob } }))
    t.equal(await list(next, id, phone), 401)
    next.proxy.reload(configWith({ people }))
    t.equal(await list(next, id, phone), 404, 'the session has ended with the user')
    await next.proxy.close()
    t.equal(await list(await start(), id, phone), 404)
  },
)
