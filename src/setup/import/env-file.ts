import { isAbsolute, resolve } from 'node:path'
import { readSmallFile } from '../../config/file/small-file.js'
import { parseEnvFile } from '../../config/read/env-file.js'
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
 * Copies the variables of an `envFile` into `env`, which takes precedence as in the client. A server with an
 * unreadable file stays in its client.
 */
export const withEnvFile = (server: Normalised, where: Where): Normalised => {
  const { envFile, entry, notes, obstacles } = server
  if (envFile === undefined) return server
  const path = pathOf(envFile, where)
  const read =
    path === undefined ? { wrong: 'depends on the open folder or on variables' } : readSmallFile(path)
  if (!('text' in read)) {
    const why = `its envFile ${path ?? envFile} ${read.wrong}`
    return {
      ...server,
      // Without its variables, it would run with other settings.
      entry: path === undefined ? entry : { ...entry, envFile: literal(path) },
      notes: [...notes, `${why}; write its variables into "env"`],
      obstacles: [...obstacles, why],
    }
  }
  const variables = Object.entries(parseEnvFile(read.text)).map(([name, value]): [string, Json] => [
    name,
    literal(value),
  ])
  const env = { ...Object.fromEntries(variables), ...(isObject(entry['env']) ? entry['env'] : {}) }
  return {
    ...server,
    entry: { ...entry, ...(Object.keys(env).length === 0 ? {} : { env }) },
    notes: [...notes, `the variables of ${path} were copied; later changes to that file have no effect`],
  }
}
