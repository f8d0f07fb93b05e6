import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isBrokenPipe } from '../../kernel/faults.js'
import { CERTIFICATE_REQUESTED } from '../../kernel/machine/tls-settings.js'

/**
 * Watches a new connection. If its server requests a client certificate and then hangs up without an answer,
 * as many do instead of sending an alert, the connection fails with the code `CERTIFICATE_REQUESTED`.
 */
export const watchCertificateRequest = (socket: Socket | TLSSocket): void => {
  if (!('getSharedSigalgs' in socket)) return
  let isRequested = false
  const look = (): void => {
    // The request has the server's signature algorithms (RFC 8446 §4.3.2, RFC 5246 §7.4.4).
    if (!socket.destroyed) isRequested ||= socket.getSharedSigalgs().length > 0
  }
  socket.once('secureConnect', look)
  // Before other listeners: Node's HTTP client reports an error of its own, and undici destroys the socket.
  socket.prependOnceListener('end', () => {
    look()
    if (!isRequested || socket.bytesRead > 0) return
    const error = new HungUp()
    socket.emit('error', error)
    socket.destroy(error)
  })
  socket.prependOnceListener('error', error => {
    if (isRequested && socket.bytesRead === 0 && isBrokenPipe(error))
      Object.assign(error, { code: CERTIFICATE_REQUESTED })
  })
}

class HungUp extends Error {
  readonly code = CERTIFICATE_REQUESTED
}
