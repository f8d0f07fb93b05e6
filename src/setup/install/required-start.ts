import { dirname } from 'node:path'
import { formatOf } from '../clients/formats.js'
import { ruledOutBy } from '../clients/switches.js'
import { SetupError } from '../setup-error.js'
import { KEY } from './entry.js'
import type { InstallContext, InstallPlace, Wish } from './install.js'

interface StartedEntry {
  readonly place: InstallPlace
  readonly entry: Wish['entry']
  /** The whole file of the client. */
  readonly root: unknown
}

/** Rejects with a SetupError if a setting of the client keeps it from starting our entry. */
export const requireStart = async (
  { files, machine }: Pick<InstallContext, 'files' | 'machine'>,
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
