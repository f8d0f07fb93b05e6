import type { ClientProgram } from '../../setup/clients/clients.js'
import { SetupError } from '../../setup/setup-error.js'
import { printToStderr } from '../shared/output/output.js'
import { mark } from '../shared/output/terminal.js'
import { checkEditable } from './client-plans.js'
import type { Context } from './installing.js'

/** Does the work for one client. Prints a SetupError and returns false, so that other clients are served. */
export const attempt = async ({ label }: ClientProgram, work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work()
    return true
  } catch (thrown) {
    if (!(thrown instanceof SetupError)) throw thrown
    printToStderr(`${mark(false)} ${label}: ${thrown.message}; fix: ${thrown.fix}`)
    return false
  }
}

/** Returns the clients whose files can be edited, and prints the reason for each of the others. */
export const editable = async (
  clients: readonly ClientProgram[],
  context: Context,
): Promise<readonly ClientProgram[]> => {
  const able: ClientProgram[] = []
  for (const client of clients) {
    if (await attempt(client, () => checkEditable(client, context))) able.push(client)
  }
  return able
}
