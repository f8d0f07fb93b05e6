import { Fault, systemCode } from '../../kernel/faults.js'
import { errors } from './undici-parts.js'

const CONNECT_FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
  EADDRNOTAVAIL: 'address not available',
  EMFILE: 'the proxy has too many open files',
  EPROTO: 'no TLS on that port',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no TLS on that port',
}

/** Certificate errors of OpenSSL (`man x509_verify_cert_error_string`), and of Node for the host name. */
const CERTIFICATE =
  /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY|DECODE)_|ERR_TLS_CERT_|HOSTNAME_MISMATCH)/

/** Returns the code of an error or its cause; for several addresses, that of the first attempt. */
function causeCodeOf(error: unknown): string {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error
  if (!(first instanceof Error)) return ''
  return systemCode(first) ?? causeCodeOf(first.cause)
}

/** Returns scheme, host and port, the part of a URL without secrets. */
export const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : 'the server')

/**
 * Converts a connection error to a Fault with a readable message: `unavailable` without a connection,
 * `disconnected` after one, or `timeout`.
 */
export function transferFault(error: unknown, url: string): Fault {
  if (error instanceof Fault) return error
  const code = causeCodeOf(error)
  const origin = originOf(url)
  const more = { cause: error }
  const refused =
    CONNECT_FAILURES[code] ?? (CERTIFICATE.test(code) ? `certificate refused: ${code}` : undefined)
  if (refused !== undefined) return new Fault('unavailable', `cannot connect to ${origin} (${refused})`, more)
  if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG') {
    const reason = 'the URL or a header of the server is not valid: check "url" and "headers"'
    return new Fault('unavailable', reason, more)
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT')
    return new Fault('timeout', `${origin} did not answer in time`, more)
  if (error instanceof errors.HTTPParserError) {
    return new Fault('disconnected', `${origin} sent a response that is not HTTP`, more)
  }
  const detail = code === '' ? '' : ` (${code})`
  return new Fault('disconnected', `the connection to ${origin} was lost${detail}`, more)
}
