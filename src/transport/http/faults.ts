import { errors } from 'undici'
import { Fault } from '../../kernel/faults.js'

const CONNECT_FAILURES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'no such host',
  EAI_AGAIN: 'the name could not be looked up',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
  EADDRNOTAVAIL: 'address not available',
  EMFILE: 'the proxy has no file descriptors left',
  EPROTO: 'no TLS on that port',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no TLS on that port',
}

/** OpenSSL's verdicts on a certificate (`man x509_verify_cert_error_string`), and Node's on the name in it. */
const CERTIFICATE =
  /^(?:CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(?:GET|VERIFY|DECODE)_|ERR_TLS_CERT_|HOSTNAME_MISMATCH)/

function codeOf(error: unknown): string {
  // Several addresses of one name were tried, and each failed.
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error
  if (!(first instanceof Error)) return ''
  if ('code' in first && typeof first.code === 'string') return first.code
  return codeOf(first.cause)
}

/** Scheme, host and port: the part of a URL that is no secret. */
const placeOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : 'the server')

/**
 * What went wrong between us and a remote server, for a person to read: `unavailable` when there is no connection,
 * `disconnected` when there was one, or `timeout`.
 */
export function transferFault(error: unknown, url: string): Fault {
  if (error instanceof Fault) return error
  const code = codeOf(error)
  const place = placeOf(url)
  const more = { cause: error }
  const refused =
    CONNECT_FAILURES[code] ?? (CERTIFICATE.test(code) ? `certificate refused: ${code}` : undefined)
  if (refused !== undefined) return new Fault('unavailable', `cannot connect to ${place} (${refused})`, more)
  if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG') {
    return new Fault(
      'unavailable',
      'the URL or a header of the server is not valid: check "url" and "headers"',
      more,
    )
  }
  if (code === 'UND_ERR_HEADERS_TIMEOUT') return new Fault('timeout', `${place} did not answer in time`, more)
  if (error instanceof errors.HTTPParserError) {
    return new Fault('disconnected', `${place} answered something that is no HTTP`, more)
  }
  return new Fault(
    'disconnected',
    `the connection to ${place} was lost${code === '' ? '' : ` (${code})`}`,
    more,
  )
}
