import { posix, win32 } from 'node:path'

/** Whether two paths say the same place: on Windows in letters of either case, and with either slash. Links are not followed. */
export const isSamePath = (
  one: string,
  other: string,
  platform: NodeJS.Platform = process.platform,
): boolean => (platform === 'win32' ? win32 : posix).relative(one, other) === ''
