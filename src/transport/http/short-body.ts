import type { IncomingMessage } from 'node:http'
import type { IncomingRequest } from '../node-internals.js'

/**
 * Reads a short body, such as a form; resolves with undefined if it is longer than `maxBytes`. It counts in
 * `limits.inbound` while it arrives; a sender that is cut there loses its connection. Rejects if the sender
 * disconnects.
 */
export const readShortBody = async (
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | undefined> => {
  const holding = (request as Partial<IncomingRequest>).inbound?.open(() => request.destroy())
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > maxBytes) return undefined
      chunks.push(chunk)
      holding?.set(bytes)
    }
    return Buffer.concat(chunks)
  } finally {
    holding?.set(0)
  }
}
