import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import { hello, NEWEST } from '../era/codec.js'
import { type Daemon, peakMiB, rawServer, startDaemon } from '../proxy/start.js'
import { type Answer, probe, RawClient } from './raw-client.js'

/** What is attacked, and by whom. */
export interface Target {
  readonly daemon: Daemon
  /** A client with a session of its own, new for each attack. */
  readonly client: RawClient
}

/** What a client does, and what must come of it. */
export type Attack = (target: Target, t: Test) => Promise<void>

export const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
}
/** The same as they stand on the wire. */
export const JSON_LINES = ['Content-Type: application/json', 'Accept: application/json, text/event-stream']
export const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
export const INITIALIZE_BODY = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: hello(NEWEST),
})

/** The text of a result's only block. */
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

/** A body that is refused with this status, and in words that fit. */
export const refused =
  (status: number, words: RegExp, body: string | Buffer, headers: Record<string, string> = {}): Attack =>
  async (target, t) => {
    const response = await post(target, body, headers)
    t.equal(response.status, status)
    t.match(await response.text(), words)
  }

/** A connection that nobody reads from unless they say so. */
export const dial = async ({ daemon: { host, port } }: Target): Promise<Socket> => {
  const socket = connect({ host, port })
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Says these bytes on a connection of its own; what comes back until the other side ends it. */
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

/** The statuses of the answers as they stand on the wire. */
export const statusesOf = (heard: string): number[] =>
  [...heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => Number(status))

/** The head of a request. */
export const head = (
  { daemon: { host, port } }: Target,
  lines: readonly string[],
  { target = '/mcp', method = 'POST' } = {},
): string => [`${method} ${target} HTTP/1.1`, `Host: ${host}:${port}`, ...lines, '', ''].join('\r\n')

/** The same of one that is the last on its connection. */
export const lastHead = (target: Target, lines: readonly string[], of = {}): string =>
  head(target, [...lines, 'Connection: close'], of)

const PEAK_MIB = 450

/** Has each attack made on a daemon with a healthy server, which a healthy client goes on using. */
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
