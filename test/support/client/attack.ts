import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { hello, NEWEST } from '../era/codec.js'
import { type Daemon, peakMiB, rawServer, startDaemon } from '../proxy/start.js'
import { type Answer, probe, RawClient } from './raw-client.js'

/** The daemon under attack, and its attacker. */
export interface Target {
  readonly daemon: Daemon
  /** A client with a separate session, new for each attack. */
  readonly client: RawClient
}

/** A client's misbehaviour, with assertions on the result. */
export type Attack = (target: Target, t: Test) => Promise<void>

export const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
/** The same headers as raw lines. */
export const JSON_LINES = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']
export const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
export const INITIALIZE_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: hello(NEWEST),
})

/** Returns the text of a result's only block. */
export const textOf = ({ last }: Answer): string => String(last.message.result?.content?.[0]?.text)

/** Sends a body in the client's session. */
export const post = (
  { client }: Target,
  body: string | Buffer,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(client.url, {
    method: 'POST',
    headers: { ...HEADERS, 'mcp-session-id': client.session ?? '', ...headers },
    body,
  })

/** Expects a body to be refused with this status and a matching message. */
export const refused =
  (status: number, words: RegExp, body: string | Buffer, headers: Record<string, string> = {}): Attack =>
  async (target, t) => {
    const response = await post(target, body, headers)
    t.equal(response.status, status)
    t.match(await response.text(), words)
  }

/** Opens a connection that is not read until a test reads it. */
export const dial = async ({ daemon: { host, port } }: Target): Promise<Socket> => {
  const socket = connect({ host, port })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Sends bytes on a separate connection; resolves with the bytes received until the peer closes it. */
export const say = async (target: Target, ...parts: readonly (string | Buffer)[]): Promise<string> => {
  const socket = await dial(target)
  let heard = ''
  socket.on('data', chunk => {
    heard += chunk.toString('latin1')
  })
  const closed = new Promise(resolve => {
    socket.once('close', resolve)
  })
  for (const part of parts) socket.write(part)
  await closed
  return heard
}

/** Returns the statuses of raw responses. */
export const statusesOf = (heard: string): number[] =>
  [...heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))

/** Returns the head of a request. */
export const head = (
  { daemon: { host, port } }: Target,
  lines: readonly string[],
  { target = '/mcp', method = 'POST' } = {},
): string => [`${method} ${target} HTTP/1.1`, `Host: ${host}:${port}`, ...lines, '', ''].join('\r\n')

/** Returns the head of the last request on a connection. */
export const lastHead = (target: Target, lines: readonly string[], of = {}): string =>
  head(target, [...lines, 'Connection: close'], of)

const PEAK_MIB = 450

/** Runs each attack on a daemon while a healthy client keeps using its healthy server. */
export const attacked = async (
  t: Test,
  attacks: Readonly<Record<string, Attack>>,
  more: object = {},
): Promise<void> => {
  const daemon = await startDaemon(t, { good: rawServer(), asking: rawServer() }, more)
  const neighbour = new RawClient(daemon.url)
  await neighbour.initialize()
  const stop = probe(t, neighbour)
  for (const [what, attack] of Object.entries(attacks)) {
    await t.test(`one that ${what}`, async t => {
      const client = new RawClient(daemon.url)
      await client.initialize({ elicitation: {} })
      await attack({ daemon, client }, t)
      client.vanish()
      t.equal(textOf(await neighbour.call(what, 'good__echo', '{"still":1}')), '{"still":1}')
    })
  }
  await stop()
  const peak = peakMiB(daemon.child.pid) ?? 0
  t.ok(peak < PEAK_MIB, `memory stays bounded: ${Math.round(peak)} MiB at most`)
  t.notMatch(daemon.err, /could not be handled|Internal error|"level":(?:50|60)/, 'nothing was unforeseen')
  neighbour.vanish()
  t.same(await daemon.stop(), { code: 0, left: [] })
}
