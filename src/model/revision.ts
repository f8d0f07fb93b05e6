/** Published revisions with a handshake and sessions, oldest first. */
export const LEGACY_REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const

export type LegacyRevision = (typeof LEGACY_REVISIONS)[number]

/** A published revision of the Model Context Protocol. Compare with `<` and `>=`: they are ISO dates. */
export type Revision = LegacyRevision | '2026-07-28'

/** The newest revision that `initialize` can agree on: our offer to servers and counter-offer to clients. */
export const NEWEST_LEGACY: LegacyRevision = '2025-11-25'

/** Whether `initialize` may agree on a version; exact match, no date arithmetic. */
export const isLegacyRevision = (version: string): version is LegacyRevision =>
  (LEGACY_REVISIONS as readonly string[]).includes(version)

export const isRevision = (version: string): version is Revision =>
  version === '2026-07-28' || isLegacyRevision(version)
