import type { Client } from '../../../setup/clients/clients.js'
import type { Files } from '../../../setup/files/revise.js'
import type { OwnFile } from '../../../setup/own-file.js'
import { ask, isInteractive } from '../../output/ask.js'
import { say } from '../../output/output.js'
import { thisMachine } from '../../setup/setup-files.js'

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
  const [{ planImport }, { readClientFile }, { writeOwnFile }] = await Promise.all([
    import('../../../setup/import/plan.js'),
    import('../../../setup/import/sources.js'),
    import('../../../setup/own-file.js'),
  ])
  const machine = thisMachine()
  const sources = await Promise.all(
    places.map(({ client, file }) => readClientFile({ machine, disk: files.disk }, client, file)),
  )
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
