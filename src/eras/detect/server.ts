import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { ServerRequestMode } from '../../model/links.js'
import { statusFault } from '../../rpc/http/reply.js'
import { shortName } from '../../secrets/mask.js'
import type { LinkOptions } from '../legacy/server-side/open.js'
import { MODERN_REVISIONS } from '../protocol.js'
import type { ConnectionAttempt, EraCache, ModernServer } from './era-cache.js'
import type { ProbeVerdict } from './probe-verdict.js'

/** What opening a connection to a server needs when its era may have to be detected. */
export interface ServerLinkOptions extends LinkOptions {
  /** Detected, or fixed by the configuration. */
  readonly era: 'auto' | 'modern' | 'legacy'
  /** The mode of the connection's clients: a server of both eras is spoken to in theirs. */
  readonly serverRequests: ServerRequestMode
  /** Our own `Implementation` object. */
  readonly identity: JsonText
  /** How long a server may take to answer the probe before it counts as legacy. */
  readonly probeMs: number
  /** What is already known about this server. */
  readonly eraCache: EraCache
  /** Request ids outside of sessions: unique per server. */
  readonly nextId: () => number
}

/** Whether a modern server may speak the legacy era too, as far as is known. */
const mayBeLegacy = ({ known }: ConnectionAttempt, { era }: ServerLinkOptions): boolean =>
  era === 'auto' && known.legacy !== false

/** Whether to use the legacy era, for the sake of the clients. */
export const prefersLegacy = (attempt: ConnectionAttempt, options: ServerLinkOptions): boolean =>
  options.serverRequests === 'pushed' && mayBeLegacy(attempt, options)

/** Whether the legacy era is left to be tried on another connection. */
export const hasOtherMode = (attempt: ConnectionAttempt, options: ServerLinkOptions): boolean =>
  options.serverRequests === 'returned' && mayBeLegacy(attempt, options)

/** Limits the handshake with a server known to be running to the time of a probe. */
export const withProbeTimeout = <T extends ServerLinkOptions>(options: T): T => {
  const { probeMs, timeoutMs, initializeMs = timeoutMs } = options
  return { ...options, initializeMs: Math.min(probeMs, initializeMs) }
}

/** The Fault of a server that rejects each era in favour of the other. */
export const refusesBoth = (): Fault =>
  new Fault('unavailable', 'The server rejects both initialize and server/discover')

/** Turns a verdict into what is known of the server. Throws a Fault if there is no way to talk to it. */
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
      const words = textMember(verdict.error, 'message') ?? 'no reason given'
      throw new Fault('unavailable', `The server refused server/discover: ${words}`)
    }
    case 'incompatible':
      throw new Fault(
        'unavailable',
        `The server supports none of our protocol versions, only ${listed(verdict.versions)}`,
      )
    case 'auth':
      throw statusFault(verdict.status)
    case 'unreachable': {
      const { status, why } = verdict
      const words = `The server did not say what it speaks: ${why}`
      if (status === undefined)
        throw new Fault('timeout', `${words}; if it is a legacy server, say so with "era"`)
      throw new Fault('unavailable', words, { data: { httpStatus: status } })
    }
    case 'repeat':
    case 'follow':
      throw new Fault('internal', 'The probe of the server was not finished')
  }
}

const SHOWN_VERSIONS = 5
const SHOWN_LENGTH = 32

const listed = (versions: readonly string[]): string =>
  versions
    .slice(0, SHOWN_VERSIONS)
    .map(version => shortName(version, SHOWN_LENGTH))
    .join(', ') || 'no version at all'
