import { Fault, systemCode } from '../../kernel/faults.js'
import { type ForwardProxy, PROXY_FAILED, proxyUrl } from '../../kernel/machine/forward-proxy.js'
import { isCertificateCode } from '../../kernel/machine/tls-settings.js'
import { socketFailure, socketFault } from '../socket-faults.js'
import { type CertificateRefusal, certificateRefusal } from './certificate-requests.js'
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

const certificateFix = (code: string): string => {
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return 'contact its operator, or check the clock; "tls": { "insecure": true } ignores certificates in tests'
  }
  return /ALTNAME|HOSTNAME/.test(code)
    ? 'check the host in "url", or name the one in the certificate in "tls": { "servername": "HOST" }'
    : 'name its authority in "tls": { "ca": "FILE" } of the server, or in NODE_EXTRA_CA_CERTS'
}

const REFUSALS: Readonly<Record<CertificateRefusal, string>> = {
  'hang-up': 'hung up; it requires',
  alert: 'requires',
  handshake: 'refused the TLS handshake; it may require',
}

const clientCertificateFault = (refusal: CertificateRefusal, origin: string, cause: unknown): Fault => {
  // A server that only asks for a certificate may have run the request before it hung up.
  const isCut = refusal === 'hang-up'
  const detail = isCut ? '' : ` (${causeCodeOf(cause)})`
  return new Fault(
    isCut ? 'disconnected' : 'unavailable',
    `${origin} ${REFUSALS[refusal]} a client certificate that it accepts${detail}: ${CLIENT_CERTIFICATE}`,
    { remote: 'certificate', cause },
  )
}

const CLIENT_CERTIFICATE = 'name one in "tls": { "cert": "FILE", "key": "FILE" } of the server'

/** Returns the first error in a chain of causes that has a code. Of several addresses, the first counts. */
function codedCauseOf(error: unknown): Error | undefined {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error
  if (!(first instanceof Error)) return undefined
  return systemCode(first) === undefined ? codedCauseOf(first.cause) : first
}

const causeCodeOf = (error: unknown): string => systemCode(codedCauseOf(error)) ?? ''

/** Returns scheme, host and port, the part of a URL without secrets. */
export const urlOrigin = (url: string): string => (URL.canParse(url) ? new URL(url).origin : 'the server')

/**
 * Converts an error of HTTP over a local socket to a Fault, like `transferFault`, without its path.
 */
export const httpSocketFault = (error: unknown, url: string): Fault => {
  const failure = error instanceof Fault ? undefined : socketFailure(causeCodeOf(error))
  if (failure !== undefined) return socketFault(failure, error)
  if (!(error instanceof errors.HTTPParserError)) return transferFault(error, url, 'the socket')
  const message = 'the socket sent a response that is not HTTP: if it reads one message per line'
  return new Fault('disconnected', `${message}, remove "#" and what follows from its address`, {
    cause: error,
  })
}

/**
 * Converts a connection error to a Fault with a readable message: `unavailable` without a connection,
 * `disconnected` after one, or `timeout`. `origin` names the other end.
 */
export function transferFault(error: unknown, url: string, origin = urlOrigin(url)): Fault {
  if (error instanceof Fault) return error
  const code = causeCodeOf(error)
  const more = { cause: error }
  if (isCertificateCode(code)) {
    const reason = `certificate refused: ${code}`
    return new Fault('unavailable', `cannot connect to ${origin} (${reason}): ${certificateFix(code)}`, more)
  }
  const refusal = certificateRefusal(codedCauseOf(error))
  if (refusal !== undefined) return clientCertificateFault(refusal, origin, error)
  const refused = CONNECT_FAILURES[code]
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

const ofProxy = (message: string, more: { readonly cause?: unknown } = {}): Fault =>
  new Fault('unavailable', message, { ...more, data: { reason: PROXY_FAILED } })

const BYPASS = 'or exempt the server with NO_PROXY or "proxy": false'

const nameOf = ({ url, from }: ForwardProxy): string => `the proxy ${proxyUrl(url)?.origin ?? ''} of ${from}`

/** Converts an error of the connection to a forward proxy to a Fault that names the proxy and its setting. */
export const proxyFault = (error: unknown, proxy: ForwardProxy): Fault => {
  if (error instanceof Fault) return error
  const code = causeCodeOf(error)
  const reason = CONNECT_FAILURES[code] ?? (code === '' ? 'the connection was closed' : code)
  const fix = isCertificateCode(code) ? 'name its authority in NODE_EXTRA_CA_CERTS' : `correct ${proxy.from}`
  return ofProxy(`cannot connect to ${nameOf(proxy)} (${reason}): ${fix}, ${BYPASS}`, { cause: error })
}

/** Returns the Fault for an HTTP status with which a forward proxy refuses a request. */
export const proxyStatusFault = (status: number, proxy: ForwardProxy, target: string): Fault => {
  const name = nameOf(proxy)
  // Tinyproxy answers wrong credentials with 401.
  if (status === 407 || status === 401) {
    const { username = '' } = proxyUrl(proxy.url) ?? {}
    const what = username === '' ? 'requires a user and password' : 'refused its user and password'
    return ofProxy(`${name} ${what} (HTTP ${status}): write USER:PASSWORD@ before its host in ${proxy.from}`)
  }
  return status >= 500
    ? ofProxy(`${name} cannot reach ${target} (HTTP ${status}): check the address of the server, ${BYPASS}`)
    : ofProxy(`${name} does not allow ${target} (HTTP ${status}): ask its operator to allow it, ${BYPASS}`)
}
