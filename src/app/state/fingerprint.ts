import { createHash } from 'node:crypto'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ServerConfig, ServerTransport } from '../../config/types.js'

/** Grows with what goes into a fingerprint, or into a file. */
const FORMAT = 1

/**
 * What decides which server this is, as a name for a file: how it is reached or started, with which credentials, what it is
 * asked to speak, and the size and time of each program file that its command line names. Nothing can be read back from it.
 */
export const fingerprint = ({ transport, era, protocolVersion }: ServerConfig): string => {
  const parts = [FORMAT, transport.kind, era, protocolVersion ?? null, ...partsOf(transport)]
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url')
}

const partsOf = (transport: ServerTransport): readonly unknown[] => {
  switch (transport.kind) {
    case 'stdio': {
      const { command, args, cwd = process.cwd(), env, unsetEnv } = transport
      return [
        command,
        args,
        cwd,
        sorted(env),
        unsetEnv.toSorted(),
        [command, ...args].map(one => stamp(cwd, one)),
      ]
    }
    case 'socket':
      return [transport.path]
    case 'auto':
    case 'http':
    case 'sse':
    case 'ws':
      return [transport.url, sorted(transport.headers)]
  }
}

const sorted = (values: Readonly<Record<string, string>>): readonly (readonly [string, string])[] =>
  Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1))

/** Another version of a program is another server. A folder is none, whatever is put into it. */
const stamp = (cwd: string, word: string): readonly number[] | null => {
  try {
    const stat = statSync(resolve(cwd, word), { throwIfNoEntry: false })
    return stat?.isFile() === true ? [stat.size, stat.mtimeMs] : null
  } catch {
    return null
  }
}
