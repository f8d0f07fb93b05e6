import path, { type PlatformPath } from 'node:path'

/** Whether two paths say the same place: on Windows in letters of either case, and with either slash. Links are not followed. */
export const isSamePath = (one: string, other: string, system: PlatformPath = path): boolean =>
  system.relative(one, other) === ''
