import { connect, type Socket } from 'node:net'
import { Fault } from '../kernel/faults.js'
import { CONNECT_PATH, encodeHello, HELLO_HEADER, type Hello, LINES_PROTOCOL } from './hello.js'
import { checkSocket } from './place.js'

/** Maximum size of a response head. */
const HEAD_BYTES = 8 * 1024
/** Far more than a status or a page of a log. */
const BODY_BYTES = 64 * 1024 * 1024

export interface DaemonAskOptions {
  /** The private socket of a proxy. */
  readonly socket: string
  readonly hello: Hello
  /** Maximum wait for the head of the response. */
  readonly limitMs: number
}

interface Head {
  readonly status: number
  /** Names are lower-case. */
  readonly headers: ReadonlyMap<string, string>
}

export interface DaemonReply extends Head {
  readonly body: string
}

/** A connection positioned after the head of the response. */
export interface Opened extends Head {
  readonly stream: Socket
}

/**
 * Sends a request to the private socket of a proxy and resolves with the complete response. Rejects with a
 * system error if no proxy listens, else with a Fault: `timeout` without a response in time, `disconnected`
 * if the connection closes early, `unavailable` for an invalid response or a socket of another user.
 */
export const askDaemon = async (
  options: DaemonAskOptions,
  target: string,
  body?: string,
): Promise<DaemonReply> => {
  const opened = await open(options, `${body === undefined ? 'GET' : 'POST'} ${target}`, {
    connection: 'close',
    ...(body !== undefined && {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
    }),
    body,
  })
  return { ...opened, body: await bodyOf(opened.stream) }
}

/** Sends a request whose response does not end by itself. */
export const follow = (options: DaemonAskOptions, target: string): Promise<Opened> =>
  open(options, `GET ${target}`, { connection: 'close' })

/** Requests an MCP connection: with status 101, the stream carries MCP. */
export const askToConnect = (options: DaemonAskOptions): Promise<Opened> =>
  open(options, `GET ${CONNECT_PATH}`, { connection: 'upgrade', upgrade: LINES_PROTOCOL })

/** Reads the rest of a stream as text; cuts off an endless one. */
export const bodyOf = (stream: Socket): Promise<string> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    stream.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > BODY_BYTES) stream.destroy(new Fault('unavailable', 'the answer is too long'))
    })
    stream.once('end', () => stream.destroy())
    stream.once('error', reject)
    stream.once('close', () => resolve(Buffer.concat(chunks).toString()))
    stream.resume()
  })

const open = (
  { socket, hello, limitMs }: DaemonAskOptions,
  request: string,
  { body = '', ...headers }: Readonly<Record<string, string | undefined>>,
): Promise<Opened> =>
  new Promise((resolve, reject) => {
    checkSocket(socket)
    const stream = connect({ path: socket, allowHalfOpen: true })
    const fail = (thrown: unknown): void => {
      clearTimeout(timer)
      stream.destroy()
      reject(thrown instanceof Error ? thrown : new Fault('unavailable', String(thrown)))
    }
    const timer = setTimeout(fail, limitMs, new Fault('timeout', 'the proxy does not answer'))
    let head = Buffer.alloc(0)
    const onData = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk])
      const end = head.indexOf('\r\n\r\n')
      if (end === -1 && head.length <= HEAD_BYTES) return
      const found = end === -1 ? undefined : readHead(head.subarray(0, end).toString('latin1'))
      if (found === undefined) {
        fail(new Fault('unavailable', 'the program that answers is not mcp-proxy'))
        return
      }
      clearTimeout(timer)
      stream.pause()
      stream.off('data', onData).off('error', fail).off('end', onEnd)
      stream.on('error', () => undefined)
      if (head.length > end + 4) stream.unshift(head.subarray(end + 4))
      resolve({ ...found, stream })
    }
    const onEnd = (): void => fail(new Fault('disconnected', 'the proxy hung up'))
    stream.on('data', onData).on('error', fail).on('end', onEnd)
    const all = { host: 'localhost', [HELLO_HEADER]: encodeHello(hello), ...headers }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    stream.write(`${request} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
  })

const readHead = (text: string): Head | undefined => {
  const [first = '', ...lines] = text.split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1]
  if (status === undefined) return undefined
  const headers = lines.map(line => {
    const at = line.indexOf(':')
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const
  })
  return { status: Number(status), headers: new Map(headers) }
}
