import { chmodSync, lstatSync, realpathSync, type Stats, statSync } from 'node:fs'
import { Fault, systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isPrivate } from '../../state/private-file.js'

const OTHERS = 0o077

/**
 * Makes the folder of the logins private, also behind a link. Throws a Fault with the folder and the fix if
 * it belongs to another user, who could add or remove logins.
 */
export const secureFolder = (folder: string, log: Logger): void => {
  const link = find(() => lstatSync(folder))
  const found = find(() => statSync(folder))
  if (link === undefined || found === undefined) return
  if (isPrivate(link, 0) && isPrivate(found, OTHERS)) return
  const place = realpathSync(folder)
  if (!isPrivate(link, 0) || !isPrivate(found, 0))
    throw refused(folder, `remove it, or run: chown -h "$USER" ${shown(place)}`)
  try {
    chmodSync(place, 0o700)
    log.warn(
      { folder: place },
      'other users could read or write the folder of the logins; they no longer can',
    )
  } catch (thrown) {
    throw refused(folder, `run: chmod 700 ${shown(place)}`, thrown)
  }
}

const find = (stat: () => Stats): Stats | undefined => {
  try {
    return stat()
  } catch (thrown) {
    if (systemCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

const shown = (path: string): string => `'${path.replaceAll("'", "'\\''")}'`

const refused = (folder: string, fix: string, cause?: unknown): Fault =>
  new Fault(
    'unavailable',
    `logins are not kept in ${folder}, which another user owns or can change: ${fix}`,
    {
      cause,
    },
  )
