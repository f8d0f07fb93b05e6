/** Published revisions with a handshake and sessions, oldest first. */
export const LEGACY_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

export type LegacyRevision = (typeof LEGACY_REVISIONS)[number]

/** A published revision of the Model Context Protocol. ISO dates, so that `<` and `>=` compare them. */
export type Revision = LegacyRevision | '2026-07-28'

/** The newest revision with `initialize`: our offer to servers and counter-offer to clients. */
export const NEWEST_LEGACY: LegacyRevision = '2025-11-25'

/** Returns whether `initialize` may agree on a version; exact match only. */
export const isLegacyRevision = (version: string): version is LegacyRevision =>
  (LEGACY_REVISIONS as readonly string[]).includes(version)

export const isRevision = (version: string): version is Revision =>
  version === '2026-07-28' || isLegacyRevision(version)
