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
