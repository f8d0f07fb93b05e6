import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import { shortName } from '../../kernel/secrets/mask.js'
import type { ServerRequestMode } from '../../model/links.js'
import type { ClientCapabilities } from '../../model/peer.js'
import { statusFault } from '../../rpc/http/reply.js'
import type { LinkOptions } from '../legacy/server-side/open.js'
import type { ProbeVerdict } from '../shared/probe-verdict.js'
import { MODERN_REVISIONS } from '../shared/protocol.js'
import type { ConnectionAttempt, EraCache, ModernServer } from './era-cache.js'

/** Options for connecting to a server whose era may have to be detected. */
export interface ServerLinkOptions extends LinkOptions {
  /** Detected, or fixed by the configuration. */
  readonly era: 'auto' | 'modern' | 'legacy'
  /** The mode of the connection's clients: a server of both eras is used in theirs. */
  readonly serverRequests: ServerRequestMode
  /** Our own `Implementation` object. */
  readonly identity: JsonText
  /** Returns what the proxy declares on requests for all clients; undefined for nothing. */
  readonly declares?: (() => ClientCapabilities | undefined) | undefined
  /** The time for an answer to the probe; a silent server counts as legacy. */
  readonly probeMs: number
  /** The known eras of this server. */
  readonly eraCache: EraCache
  /** Returns request ids outside of sessions, unique per server. */
  readonly nextId: () => number
}

/**
 * Returns what the probe declares. If `initialize` must not name the clients' extensions, the probe does not
 * either, because the era of the server is unknown.
 */
export const probeDeclaration = ({
  capabilities,
  declares,
}: ServerLinkOptions): ClientCapabilities | undefined =>
  capabilities.declared === undefined ? undefined : declares?.()

/** Returns whether a modern server may also support the legacy era, as far as known. */
const mayBeLegacy = ({ known }: ConnectionAttempt, { era }: ServerLinkOptions): boolean =>
  era === 'auto' && known.legacy !== false

/** Returns whether to use the legacy era, for the sake of the clients. */
export const prefersLegacy = (attempt: ConnectionAttempt, options: ServerLinkOptions): boolean =>
  options.serverRequests === 'pushed' && mayBeLegacy(attempt, options)

/** Returns whether the legacy era can still be tried on another connection. */
export const hasOtherMode = (attempt: ConnectionAttempt, options: ServerLinkOptions): boolean =>
  options.serverRequests === 'returned' && mayBeLegacy(attempt, options)

/** Limits the handshake with a running server to the time of a probe. */
export const withProbeTimeout = <T extends ServerLinkOptions>(options: T): T => {
  const { probeMs, timeoutMs, initializeMs = timeoutMs } = options
  return { ...options, initializeMs: Math.min(probeMs, initializeMs) }
}

/** The Fault of a server that rejects each era in favour of the other. */
export const refusesBoth = (): Fault =>
  new Fault('unavailable', 'The server rejects both initialize and server/discover')

/** Converts a verdict to facts about the server. Throws a Fault if it cannot be used. */
export const modernBy = (verdict: ProbeVerdict, { era }: ServerLinkOptions): ModernServer | false => {
  switch (verdict.is) {
    case 'modern':
      return { discovered: verdict.discovered }
    case 'legacy':
      if (era === 'auto') return false
      throw new Fault(
        'unavailable',
        `The server does not speak ${MODERN_REVISIONS[0]}, the only era configured for it: check "era"`,
      )
    case 'modern-refused': {
      const reason = textMember(verdict.error, 'message') ?? 'no reason given'
      throw new Fault('unavailable', `The server refused server/discover: ${reason}`)
    }
    case 'incompatible':
      throw new Fault(
        'unavailable',
        `The server supports none of our protocol versions, only ${listed(verdict.versions)}`,
      )
    case 'auth':
      throw statusFault(verdict.status, verdict.stated)
    case 'unreachable':
      throw unreachableFault(verdict)
    case 'repeat':
    case 'follow':
      throw new Fault('internal', 'The probe of the server was not finished')
  }
}

const unreachableFault = ({ status, why, stated }: Extract<ProbeVerdict, { is: 'unreachable' }>): Fault => {
  const message = `The server did not reveal its protocol version: ${why}`
  if (status === undefined)
    return new Fault('timeout', `${message}; if it is a legacy server, configure that with "era"`)
  return new Fault('unavailable', message, { data: { httpStatus: status }, remote: stated?.remote })
}

const SHOWN_VERSIONS = 5
const SHOWN_LENGTH = 32

const listed = (versions: readonly string[]): string =>
  versions
    .slice(0, SHOWN_VERSIONS)
    .map(version => shortName(version, SHOWN_LENGTH))
    .join(', ') || 'no version at all'
