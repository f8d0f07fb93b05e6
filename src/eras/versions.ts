import { LEGACY_REVISIONS, type Revision } from '../model/revision.js'
import { MODERN_REVISION } from './modern/methods.js'

/** A revision whose requests stand for themselves: each names its version in `_meta`. */
export type ModernRevision = Exclude<Revision, (typeof LEGACY_REVISIONS)[number]>

/** Revisions that are spoken without a handshake, newest first. */
export const MODERN_REVISIONS = [MODERN_REVISION] as const satisfies readonly ModernRevision[]

/** Revisions that `initialize` may agree on, newest first: what is offered where nothing else is spoken. */
export const SUPPORTED_LEGACY: readonly string[] = [...LEGACY_REVISIONS].reverse()

/** Whether a version string names a revision that we speak without a handshake. */
export const isModernRevision = (version: string): version is ModernRevision =>
  (MODERN_REVISIONS as readonly string[]).includes(version)

const OLDEST_MODERN = MODERN_REVISION

/** Whether a version is older than the first without a handshake; versions are ISO dates, anything else is newer. */
export const isBeforeModern = (version: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(version) && version < OLDEST_MODERN

/** Whether a header value names, perhaps among others, a version of the era without sessions, known or not. */
export const claimsModern = (header: string | undefined): boolean =>
  header !== undefined &&
  !SUPPORTED_LEGACY.includes(header) &&
  header
    .split(',')
    .map(one => one.trim())
    .some(one => /^\d{4}-\d{2}-\d{2}$/.test(one) && one >= OLDEST_MODERN)
