import type { IncomingMessage } from 'node:http'

/** What became of a request's body: all of it, more than is allowed, or its sender left halfway. */
export type BodyResult =
  | { readonly is: 'whole'; readonly body: Buffer }
  | { readonly is: 'too-large' }
  | { readonly is: 'gone' }

/** Node reads the rest of a body that nobody wanted, to use the connection again; worth it up to this size. */
const SHORT_BODY_BYTES = 64 * 1024

/** Whether the sender has said beforehand that it will send too much. */
export const announcesTooMuch = (request: IncomingMessage, limitBytes: number): boolean =>
  Number(request.headers['content-length'] ?? 0) > limitBytes

/** Whether a body follows that is better cut off than read, when the request is refused anyway. */
export const hasLongBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || announcesTooMuch(request, SHORT_BODY_BYTES)

/**
 * Reads the body of a request up to `limitBytes` and tells the result once. Of a body that is too large no more is
 * read than it takes to know that: nothing when its length was announced.
 */
export function readBody(
  request: IncomingMessage,
  limitBytes: number,
  done: (result: BodyResult) => void,
): void {
  if (announcesTooMuch(request, limitBytes)) {
    done({ is: 'too-large' })
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  const finish = (result: BodyResult) => {
    request.off('data', onData).off('end', onEnd).off('close', onClose)
    done(result)
  }
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limitBytes) {
      request.pause()
      finish({ is: 'too-large' })
    } else {
      chunks.push(chunk)
    }
  }
  const onEnd = () => {
    const [only] = chunks
    finish({
      is: 'whole',
      body: only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, bytes),
    })
  }
  const onClose = () => finish({ is: 'gone' })
  request.on('data', onData).on('end', onEnd).on('close', onClose)
}
