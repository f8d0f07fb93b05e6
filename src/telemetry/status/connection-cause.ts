import type { CauseCode } from '../../diagnostics/causes.js'
import { type Fault, systemCode } from '../../kernel/faults.js'
import { PROXY_FAILED } from '../../kernel/machine/forward-proxy.js'
import { isCertificateCode } from '../../kernel/machine/tls-settings.js'

export type AddressCode = Extract<CauseCode, `D035.${string}`>

/** Maximum number of causes that are examined. */
const DEPTH = 5

const CODES: Readonly<Partial<Record<string, AddressCode>>> = {
  ENOTFOUND: 'D035.unknown-host',
  EAI_AGAIN: 'D035.no-dns',
  ECONNREFUSED: 'D035.no-listener',
  ECONNRESET: 'D035.reset',
  EHOSTUNREACH: 'D035.no-route',
  ENETUNREACH: 'D035.no-route',
  CERT_HAS_EXPIRED: 'D035.expired',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'D035.self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'D035.unknown-authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'D035.other-host',
  ERR_SSL_WRONG_VERSION_NUMBER: 'D035.no-tls',
  ETIMEDOUT: 'D035.silent',
  UND_ERR_CONNECT_TIMEOUT: 'D035.silent',
}

/** Returns the cause of a failed connection, by the code of the system or of OpenSSL, if it is known. */
export const connectionCause = (fault: Fault): AddressCode | undefined => {
  if (fault.data?.['reason'] === PROXY_FAILED) return 'D035.proxy'
  if (fault.remote === 'certificate') return 'D035.certificate'
  let { cause }: Error = fault
  for (let depth = 0; depth < DEPTH && cause instanceof Error; depth += 1) {
    const code = systemCode(cause) ?? ''
    const found = CODES[code] ?? (isCertificateCode(code) ? 'D035.unverified' : undefined)
    if (found !== undefined) return found
    cause = cause.cause
  }
  return undefined
}
