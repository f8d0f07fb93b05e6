import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isBrokenPipe, systemCode } from '../../kernel/faults.js'

/** The code of a connection that ended without an answer after its server requested a client certificate. */
const CERTIFICATE_REQUESTED = 'CLIENT_CERTIFICATE_REQUESTED'

/**
 * Watches a new connection. If its server requests a client certificate and then hangs up without an answer,
 * as many do instead of sending an alert, the connection fails with the code `CERTIFICATE_REQUESTED`.
 */
export const watchCertificateRequest = (socket: Socket | TLSSocket): void => {
  if (!('getSharedSigalgs' in socket)) return
  let isRequested = false
  const look = (): void => {
    // The request contains the server's signature algorithms (RFC 8446 §4.3.2, RFC 5246 §7.4.4).
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

/** Numbers of alerts about a missing or refused client certificate (RFC 8446 §6.2; 41 is from SSL 3). */
const CERTIFICATE_ALERTS: ReadonlySet<number> = new Set([41, 42, 43, 44, 45, 46, 48, 49, 116])
const HANDSHAKE_FAILURE = 40

/** How a server refuses a connection without a client certificate. */
export type CertificateRefusal = 'hang-up' | 'alert' | 'handshake'

/**
 * Returns how a server refused a connection because it accepts no client certificate of ours; undefined for
 * other errors. `handshake` may have other reasons: servers of TLS 1.2 send only a handshake failure.
 */
export const certificateRefusal = (error: Error | undefined): CertificateRefusal | undefined => {
  if (systemCode(error) === CERTIFICATE_REQUESTED) return 'hang-up'
  // `…:SSL alert number 116`; the code of a failed write is only EPROTO.
  const alert = Number(/SSL\D+number (\d+)\b/.exec(String(error))?.[1])
  if (CERTIFICATE_ALERTS.has(alert)) return 'alert'
  return alert === HANDSHAKE_FAILURE ? 'handshake' : undefined
}
