import { isObject } from '../../../kernel/object.js'
import type { Client } from '../../../setup/clients/clients.js'
import type { Files } from '../../../setup/files/revise.js'
import type { Source } from '../../../setup/import/sources.js'
import type { OwnFile } from '../../../setup/own-file.js'
import { ask, isInteractive } from '../../output/ask.js'
import { say } from '../../output/output.js'

/** The import that goes before servers are taken out of the files of clients. */
export interface TakeOver {
  /** Servers of a client's file that we have, or will have. */
  readonly namesIn: (file: string) => readonly string[]
  /** Those of them that we have. */
  readonly known: (file: string) => readonly string[]
  /** What is new to us, as `from: names`. */
  readonly imported: readonly string[]
  /** Rejects with a SetupError. */
  readonly carryOut: () => Promise<void>
}

interface TakeOverContext {
  readonly files: Files
  readonly ownFile: OwnFile
  readonly own: { readonly scripts: readonly string[] }
}

/** Plans to import all servers of these files. Rejects with a SetupError. */
export const planTakeOver = async (
  places: readonly { readonly client: Client; readonly file: string }[],
  { files, ownFile, own }: TakeOverContext,
  isAsking: boolean,
  tell: (words: string) => void = say,
): Promise<TakeOver> => {
  const [{ planImport }, { writeOwnFile }] = await Promise.all([
    import('../../../setup/import/plan.js'),
    import('../../../setup/own-file.js'),
  ])
  const sources = await Promise.all(places.map(({ client, file }) => sourceOf(files, client, file)))
  const plan = await planImport(ownFile, sources, {
    keepsSecrets: false,
    only: undefined,
    name: undefined,
    scripts: own.scripts,
    onConflict: () => Promise.resolve('rename'),
    askSecret: async (name, server) =>
      isAsking && isInteractive() ? await ask(`${name} for ${server}: `, true) : undefined,
  })
  const added = plan.servers.filter(({ entry }) => entry !== undefined)
  for (const { name, notes } of added) for (const note of new Set(notes)) tell(`${name}: ${note}`)
  for (const name of plan.secrets.keys()) tell(`${name} goes to ${ownFile.secrets.path}`)
  return {
    namesIn: file =>
      plan.servers.flatMap(each => (each.file === file && each.as !== undefined ? [each.name] : [])),
    known: file =>
      plan.servers.flatMap(each =>
        each.file === file && each.as !== undefined && each.entry === undefined ? [each.name] : [],
      ),
    imported: added.map(({ from, name, as = name }) => `${as} from ${from}`),
    carryOut: async () => {
      const changes = added.map(({ name, as = name, entry }) => ({ at: [], name: as, value: entry }))
      await writeOwnFile(files, ownFile, changes, plan.secrets)
    },
  }
}

/** The servers of the container in which our entry will stand, and no others of the file. */
const sourceOf = async (files: Files, client: Client, file: string): Promise<Source> => {
  const [{ openFile }, { serversIn }] = await Promise.all([
    import('../../../setup/files/edit-file.js'),
    import('../../../setup/import/containers.js'),
  ])
  const { value } = await openFile(files, file, client.syntax)
  const [key = ''] = client.at
  const found = serversIn({ [key]: isObject(value) ? value[key] : undefined })
  const { id, label, timeoutUnit, hasShellVariables = false } = client
  return { id, label, file, found, dialect: { timeoutUnit, hasShellVariables } }
}
