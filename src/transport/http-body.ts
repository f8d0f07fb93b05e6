import type { IncomingMessage } from 'node:http'

/** Who wants the body of a request. */
export interface BodyReader {
  /** All of it. */
  whole(body: Buffer): void
  /** There is more of it than is allowed. */
  tooLarge(): void
}

const NOTHING = Buffer.alloc(0)

/** Node reads the rest of a body that nobody wanted, to use the connection again; worth it up to this size. */
const SHORT_BODY_BYTES = 64 * 1024

/** Whether the sender has said beforehand that it will send too much. */
export const announcesTooMuch = (request: IncomingMessage, limitBytes: number): boolean =>
  Number(request.headers['content-length'] ?? 0) > limitBytes

/** Whether a body follows that is better cut off than read, when the request is refused anyway. */
export const hasLongBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || announcesTooMuch(request, SHORT_BODY_BYTES)

/**
 * Reads the body of a request up to `limitBytes` and tells once what became of it; never, if its sender leaves halfway. Of a body
 * that is too large no more is read than it takes to know that: nothing when its length was announced.
 */
export function readBody(request: IncomingMessage, limitBytes: number, reader: BodyReader): void {
  if (announcesTooMuch(request, limitBytes)) {
    reader.tooLarge()
    return
  }
  // Most bodies come in one piece.
  let first: Buffer | undefined
  let more: Buffer[] | undefined
  let bytes = 0
  request.on('data', (chunk: Buffer) => {
    if (bytes > limitBytes) return
    bytes += chunk.length
    if (bytes > limitBytes) {
      request.pause()
      first = undefined
      more = undefined
      reader.tooLarge()
    } else if (first === undefined) first = chunk
    else if (more === undefined) more = [first, chunk]
    else more.push(chunk)
  })
  request.on('end', () => {
    if (bytes <= limitBytes)
      reader.whole(more === undefined ? (first ?? NOTHING) : Buffer.concat(more, bytes))
  })
}
