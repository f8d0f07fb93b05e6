import { systemCode } from '../faults.js'

/** TLS settings for connections to a server: texts in PEM, except for the name. */
export interface TlsSettings {
  /** Certificate authorities to trust instead of the default ones. */
  readonly ca?: string | undefined
  /** The client certificate, with its chain. */
  readonly cert?: string | undefined
  /** Secret. The private key of the client certificate. */
  readonly key?: string | undefined
  /** Secret. Decrypts the key. */
  readonly passphrase?: string | undefined
  /** The name to send, and to expect in the server's certificate. */
  readonly servername?: string | undefined
  /** Accepts any certificate. */
  readonly insecure?: boolean | undefined
}

/** Converts settings to options of `tls.connect`. */
export const tlsOptions = ({ insecure, ...settings }: TlsSettings) => {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  return { ...Object.fromEntries(given), ...(insecure === true && { rejectUnauthorized: false }) }
}

/** Certificate errors of OpenSSL (`man x509_verify_cert_error_string`), and of Node for the host name. */
const CERTIFICATE_ERROR =
  /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY|DECODE|DECRYPT)_|ERR_TLS_CERT_|HOSTNAME_MISMATCH|INVALID_(?:CA|PURPOSE)$|PATH_LENGTH_EXCEEDED)/

/** Returns whether the code of an error means that a peer's certificate was refused. */
export const isCertificateCode = (code: string): boolean => CERTIFICATE_ERROR.test(code)

/** The code of a connection that ended without an answer after its server requested a client certificate. */
export const CERTIFICATE_REQUESTED = 'CLIENT_CERTIFICATE_REQUESTED'

/** Numbers of alerts about a missing or refused client certificate (RFC 8446 §6.2; 41 is from SSL 3). */
const CERTIFICATE_ALERTS: ReadonlySet<number> = new Set([41, 42, 43, 44, 45, 46, 48, 49, 116])
const HANDSHAKE_FAILURE = 40

/**
 * Returns whether an error means that a server refused a connection because it did not get a client
 * certificate that it accepts: `maybe` if it refused the handshake, as servers of TLS 1.2 do then.
 */
export const wantsCertificate = (error: Error | undefined): boolean | 'maybe' => {
  if (systemCode(error) === CERTIFICATE_REQUESTED) return true
  // `…:SSL alert number 116`; the code of a failed write is only EPROTO.
  const alert = Number(/SSL\D+number (\d+)\b/.exec(String(error))?.[1])
  return alert === HANDSHAKE_FAILURE ? 'maybe' : CERTIFICATE_ALERTS.has(alert)
}
