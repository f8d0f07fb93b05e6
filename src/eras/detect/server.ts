import { Fault } from '../../kernel/faults.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import type { ServerRequestMode } from '../../model/links.js'
import { statusFault } from '../../rpc/http/reply.js'
import type { LinkOptions } from '../legacy/server-side/open.js'
import { MODERN_REVISIONS } from '../protocol.js'
import type { ConnectionAttempt, EraCache, ModernServer } from './era-cache.js'
import type { ProbeVerdict } from './probe-verdict.js'

/** What opening a connection to a server needs when its era may have to be detected. */
export interface ServerLinkOptions extends LinkOptions {
  /** Detected, or fixed by the configuration. */
  readonly era: 'auto' | 'modern' | 'legacy'
  /** How the connection's clients are asked: a server that speaks both eras is spoken to in theirs. */
  readonly serverRequests: ServerRequestMode
  /** Our own `Implementation` object. */
  readonly identity: JsonText
  /** How long a server may take to say what it speaks before it is taken for an old one. */
  readonly probeMs: number
  /** What was found out about this server before. */
  readonly eraCache: EraCache
  /** Ids for requests that belong to no session: no two of them may have the same at one server. */
  readonly nextId: () => number
}

/** Whether a server of 2026-07-28 may speak the older era too: nobody has found out that it does not. */
const mayBeLegacy = ({ known }: ConnectionAttempt, { era }: ServerLinkOptions): boolean =>
  era === 'auto' && known.legacy !== false

/** Whether it is to be spoken to in the older era, for the sake of its clients. */
export const prefersLegacy = (attempt: ConnectionAttempt, options: ServerLinkOptions): boolean =>
  options.serverRequests === 'pushed' && mayBeLegacy(attempt, options)

/** Whether a connection in the newer era leaves the older one to be tried. */
export const hasOtherMode = (attempt: ConnectionAttempt, options: ServerLinkOptions): boolean =>
  options.serverRequests === 'returned' && mayBeLegacy(attempt, options)

/** Limits the handshake with a server that is known to be there to the time of a probe. */
export const withProbeTimeout = <T extends ServerLinkOptions>(options: T): T => {
  const { probeMs, timeoutMs, initializeMs = timeoutMs } = options
  return { ...options, initializeMs: Math.min(probeMs, initializeMs) }
}

/** The Fault of a server that refuses each era in favour of the other. */
export const refusesBoth = (): Fault =>
  new Fault('unavailable', 'The server refuses both to initialize and to be asked')

/** Turns a verdict into what is known of the server. Throws a Fault if there is no way to talk to it. */
export const modernBy = (verdict: ProbeVerdict, { era }: ServerLinkOptions): ModernServer | false => {
  switch (verdict.is) {
    case 'modern':
      return { discovered: verdict.discovered }
    case 'legacy':
      if (era === 'auto') return false
      throw new Fault(
        'unavailable',
        `The server does not speak ${MODERN_REVISIONS[0]}, and nothing else is to be spoken to it: check "era"`,
      )
    case 'modern-refused': {
      const words = textMember(verdict.error, 'message') ?? 'no reason given'
      throw new Fault('unavailable', `The server refused server/discover: ${words}`)
    }
    case 'incompatible':
      throw new Fault(
        'unavailable',
        `The server speaks nothing that we speak, but ${listed(verdict.versions)}`,
      )
    case 'auth':
      throw statusFault(verdict.status)
    case 'unreachable': {
      const { status, why } = verdict
      const words = `The server did not say what it speaks: ${why}`
      if (status === undefined)
        throw new Fault('timeout', `${words}; if it is an older one, say so with "era"`)
      throw new Fault('unavailable', words, { data: { httpStatus: status } })
    }
    case 'repeat':
    case 'follow':
      throw new Fault('internal', 'The search for what the server speaks was not ended')
  }
}

const SHOWN_VERSIONS = 5
const SHOWN_LENGTH = 32

const listed = (versions: readonly string[]): string =>
  versions
    .slice(0, SHOWN_VERSIONS)
    .map(version => version.slice(0, SHOWN_LENGTH))
    .join(', ') || 'no version at all'
