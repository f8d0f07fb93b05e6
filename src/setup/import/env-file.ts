import { isAbsolute, resolve } from 'node:path'
import { readSmallFile } from '../../config/file/small-file.js'
import { parseServerEnvFile } from '../../config/read/env-file.js'
import { isObject } from '../../kernel/object.js'
import type { Json } from '../edit/change.js'
import { literal } from './escapes.js'
import { type StartFolder, WORKSPACE } from './folder.js'
import type { Normalised } from './normalise.js'

/** Base folders for the path of an `envFile`. */
interface Where {
  readonly home: string
  readonly start: StartFolder | undefined
}

/** Returns the absolute path of an `envFile`; undefined if it depends on the open folder or a variable. */
const pathOf = (file: string, { home, start }: Where): string | undefined => {
  const folder = start?.isProject === true ? start.path : undefined
  const path = file
    .replace(/^(?:~|\$\{(?:userHome|HOME)\})(?=[/\\]|$)/, () => home)
    .replaceAll(WORKSPACE, () => folder ?? WORKSPACE)
  if (path.includes('${')) return undefined
  if (isAbsolute(path)) return path
  return folder === undefined ? undefined : resolve(folder, path)
}

/**
 * Keeps an `envFile`, under its absolute path. Values with variables are copied into `env`, because the proxy
 * would expand them. A server with an unreadable file stays in its client.
 */
export const withEnvFile = (server: Normalised, where: Where): Normalised => {
  const { envFile, entry, notes, obstacles } = server
  if (envFile === undefined) return server
  const path = pathOf(envFile, where)
  const read =
    path === undefined ? { wrong: 'depends on the open folder or on variables' } : readSmallFile(path)
  const kept = path === undefined ? entry : { ...entry, envFile: literal(path) }
  if (!('text' in read)) {
    const why = `its envFile ${path ?? envFile} ${read.wrong}`
    return {
      ...server,
      // Without its variables, it would run with other settings.
      entry: kept,
      notes: [...notes, `${why}; write its variables into "env"`],
      obstacles: [...obstacles, why],
    }
  }
  const copied = Object.entries(parseServerEnvFile(read.text))
    .filter(([, value]) => value.includes('${'))
    .map(([name, value]): [string, Json] => [name, literal(value)])
  if (copied.length === 0) return { ...server, entry: kept }
  const names = copied.map(([name]) => name).join(', ')
  return {
    ...server,
    entry: {
      ...kept,
      env: { ...Object.fromEntries(copied), ...(isObject(entry['env']) ? entry['env'] : {}) },
    },
    notes: [...notes, `copied from ${path} because of "\${": ${names}; later changes there have no effect`],
  }
}
