import { dirname } from 'node:path'
import type { ClientProgram } from '../clients/clients.js'
import { formatOf } from '../clients/formats.js'
import type { ClientMachine } from '../clients/machine.js'
import { ruledOutBy } from '../clients/switches.js'
import type { Json } from '../edit/change.js'
import type { Files } from '../files/revise.js'
import { SetupError } from '../setup-error.js'
import { KEY } from './entry.js'
import type { Scope } from './journal.js'

interface StartedEntry {
  readonly place: { readonly client: ClientProgram; readonly scope: Scope; readonly file: string }
  readonly entry: Readonly<Record<string, Json>>
  /** The whole file of the client. */
  readonly root: unknown
}

/** Rejects with a SetupError if a setting of the client keeps it from starting our entry. */
export const requireStart = async (
  { files, machine }: { readonly files: Files; readonly machine: ClientMachine },
  { place, entry, root }: StartedEntry,
): Promise<void> => {
  const { client, scope, file } = place
  const project = scope === 'project' ? dirname(file) : undefined
  const where = { format: formatOf(client.id), file, root, project }
  const setting = await ruledOutBy({ name: KEY, entry }, where, { disk: files.disk, machine })
  if (setting === undefined) return
  const fix = `change ${setting} of ${client.label} so that it starts ${KEY}, and run this again`
  throw new SetupError(file, `${setting} keeps ${client.label} from starting ${KEY}`, 0, fix)
}
