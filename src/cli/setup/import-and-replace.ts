import type { ClientProgram } from '../../setup/clients/clients.js'
import { ruleAgainst } from '../../setup/clients/tool-rules.js'
import type { Files } from '../../setup/files/revise.js'
import type { Plan } from '../../setup/import/plan.js'
import type { Source } from '../../setup/import/sources.js'
import type { OwnFile } from '../../setup/own-file.js'
import { printToStderr } from '../shared/output/output.js'
import { setupMachine } from '../shared/setup-files.js'
import type { Candidate, TakeOver } from './client-moves.js'
import { askInput } from './inputs.js'

interface TakeOverContext {
  readonly files: Files
  readonly ownFile: OwnFile
  readonly own: { readonly scripts: readonly string[] }
}

/** Plans to import all servers of these files. Rejects with a SetupError. */
export const planTakeOver = async (
  places: readonly { readonly client: ClientProgram; readonly file: string }[],
  { files, ownFile, own }: TakeOverContext,
  isAsking: boolean,
  tell: (text: string) => void = printToStderr,
): Promise<TakeOver> => {
  const [{ planImport }, { readClientFile }, { writeOwnFile }] = await Promise.all([
    import('../../setup/import/plan.js'),
    import('../../setup/import/sources.js'),
    import('../../setup/own-file.js'),
  ])
  const machine = setupMachine()
  const sources = await Promise.all(
    places.map(({ client, file }) => readClientFile({ machine, disk: files.disk }, client, file)),
  )
  const plan = await planImport(ownFile, sources, {
    keepsSecrets: false,
    only: undefined,
    name: undefined,
    scripts: own.scripts,
    onConflict: () => Promise.resolve('rename'),
    askSecret: isAsking ? askInput : () => Promise.resolve(undefined),
  })
  const added = plan.servers.filter(({ entry }) => entry !== undefined)
  for (const { name, notes } of added) for (const note of new Set(notes)) tell(`${name}: ${note}`)
  for (const name of plan.secrets.keys()) tell(`${name} goes to ${ownFile.secrets.path}`)
  const rules = new Map<string, Awaited<ReturnType<typeof ruleAgainst>>>()
  for (const { client } of places) rules.set(client.id, await ruleAgainst(files, machine, client.id))
  const candidates = candidatesOf(plan, sources, ownFile).map(each => ({
    ...each,
    why: each.why ?? rules.get(each.id)?.(each.name)?.why,
  }))
  return {
    candidates: file => candidates.flatMap(each => (each.file === file ? [each] : [])),
    imported: added.map(({ from, name, as = name }) => `${as} from ${from}`),
    carryOut: async () => {
      const changes = added.map(({ name, as = name, entry }) => ({ at: [], name: as, value: entry }))
      await writeOwnFile(files, ownFile, changes, plan.secrets)
    },
  }
}

const candidatesOf = (
  { servers }: Plan,
  sources: readonly Source[],
  { servers: ours }: OwnFile,
): readonly (Candidate & { readonly file: string; readonly id: string })[] => {
  const ids = sources.flatMap(({ id, found }) => found.map(() => id))
  return servers.flatMap(({ name, file, state, as, entry, obstacles, isOff }, at) => {
    if (state === 'own') return []
    const isOffHere = (entry ?? ours.get(as ?? ''))?.['disabled'] === true
    const off = isOff ? ['it is disabled'] : isOffHere ? ['it is disabled behind the proxy'] : []
    const [why] = as === undefined ? ['it is unnamed or was left out'] : [...obstacles, ...off]
    return [{ id: ids[at] ?? '', name, file, as, isNew: entry !== undefined, why }]
  })
}
