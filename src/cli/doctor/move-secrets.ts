import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../kernel/object.js'
import type { FileChange } from '../../setup/edit/change.js'
import type { ImportedEntry } from '../../setup/import/normalise.js'
import { replaceSecrets, SecretNames } from '../../setup/import/secrets.js'
import { openOwnFile, writeOwnFile } from '../../setup/own-file.js'
import { setupFiles, setupMachine } from '../shared/setup-files.js'

/** Plans to move literal secrets of our configuration to `secrets.env`. Rejects with a SetupError. */
export const planSecrets = async (file: string) => {
  const { files } = await setupFiles()
  const own = await openOwnFile(files, file, setupMachine())
  const names = new SecretNames(own.variables, own.env)
  const changes = [...own.servers].flatMap(([server, entry]) => {
    const take = (name: string, value: string): string => `\${${names.put(server, name, value, entry)}}`
    return changesOf(server, entry, replaceSecrets(entry, take))
  })
  const variablesIn = (value: unknown): string => (JSON.stringify(value).match(/\$\{\w+\}/g) ?? []).join(', ')
  return {
    lines: [
      ...changes.map(({ at, name, value }) => `${[...at, name].join('.')} gets ${variablesIn(value)}`),
      ...[...names.added.keys()].map(name => `${own.secrets.path}: ${name}='…'`),
    ],
    carryOut: async () => {
      await writeOwnFile(files, own, changes, names.added)
    },
  }
}

/** Returns only the members that differ, so that comments in the entry stay in place. */
const changesOf = (server: string, before: ImportedEntry, after: ImportedEntry): readonly FileChange[] =>
  Object.entries(after).flatMap(([key, value]): readonly FileChange[] => {
    const old = before[key]
    if (isDeepStrictEqual(old, value)) return []
    if (!isObject(old) || !isObject(value)) return [{ at: [server], name: key, value }]
    return Object.entries(value).flatMap(([name, inner]) =>
      isDeepStrictEqual(old[name], inner) ? [] : [{ at: [server, key], name, value: inner }],
    )
  })
