import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { placeOf, preparePlace, type RuntimePaths } from '../../../src/shim/place.js'

/** Creates a place for one proxy, with a path short enough for a socket. */
export const newPlace = (t: Test): RuntimePaths => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-place-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, 'run'), { mode: 0o700 })
  const id = randomBytes(5).toString('hex')
  const place = placeOf(id, { MCP_PROXY_RUN_DIR: join(folder, 'run') })
  preparePlace(place)
  return place
}

/** Listens at a place instead of a proxy; passes the head of each request as text. */
export const standIn = async (
  t: Test,
  { socket }: RuntimePaths,
  answer: (request: string, stream: Socket) => void,
): Promise<Server> => {
  const server = createServer(stream => {
    stream.on('error', () => undefined)
    stream.once('data', head => answer(String(head), stream))
  })
  await new Promise<void>(resolve => server.listen(socket, resolve))
  t.teardown(() => server.close())
  return server
}

/** Returns an HTTP response with a body. */
export const httpAnswer = (status: number, body: string, headers = ''): string =>
  `HTTP/1.1 ${status} X\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`
