import { stat } from 'node:fs/promises'
import type { Reloader, ReloaderOptions } from '../app/reload.js'
import type { Terminal } from '../app/terminal.js'
import { systemClock } from '../kernel/async/clock.js'
import type { Usable } from './configuration.js'

/** A configuration file that is followed. */
export interface Source {
  /** Absolute. */
  readonly file: string
  /** What it said at the start. */
  readonly loaded: Usable
  /** Whether the command line says how much is logged, whatever the file does. */
  readonly isLevelFixed: boolean
}

/** How a file is followed. */
interface Following {
  /** Its end is the end of what runs in it, although SIGHUP reloads. */
  readonly terminal: Terminal
  follow(what: Pick<ReloaderOptions, 'apply' | 'adopted' | 'refused' | 'log'>): Reloader
}

/** What it takes to follow a file; undefined for what is none, such as a pipe, and cannot be read again. */
export const loadFollowing = async ({ file, loaded }: Source): Promise<Following | undefined> => {
  // On Windows SIGHUP means that the console is closed, and nothing else.
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() === false) return undefined
  const [{ Reloader }, { watchTerminal }] = await Promise.all([
    import('../app/reload.js'),
    import('../app/terminal.js'),
  ])
  return {
    terminal: process.platform === 'win32' ? { isClosed: true } : watchTerminal(),
    follow: what => new Reloader({ ...what, file, loaded, env: process.env, clock: systemClock }),
  }
}
