import { cause, explain } from '../../diagnostics/explain.js'
import { askUser, confirm } from '../shared/output/ask.js'
import { printToStderr } from '../shared/output/output.js'
import { CliError } from '../shared/verb.js'
import type { Started } from './first-start.js'
import type { Interrupts } from './interrupts.js'

/** The timeout of `auth login`. */
const LOGIN_MS = 5 * 60_000

/** Offers to sign in to servers that require it. Resolves with the names of servers that now have a login. */
export const offerLogins = async (
  started: readonly Started[],
  config: string | undefined,
  { unlessStopped }: Interrupts,
): Promise<ReadonlySet<string>> => {
  const done = new Set<string>()
  for (const { name } of started.filter(({ needsLogin }) => needsLogin)) {
    if (!(await confirm(`Sign in to ${name} now?`))) continue
    if (await unlessStopped(signedIn(name, config))) done.add(name)
  }
  return done
}

const signedIn = async (name: string, config: string | undefined): Promise<boolean> => {
  const { findServer, signIn } = await import('../auth/signing-in.js')
  const how = { usesBrowser: true, wantsDevice: false, forgetsClient: false, timeoutMs: LOGIN_MS }
  try {
    await signIn(await findServer(name, config), { ...how, print: printToStderr, readLines: pasted })
    return true
  } catch (thrown) {
    if (!(thrown instanceof Error) || (thrown instanceof CliError && thrown.code > 128)) throw thrown
    const { fix } = explain(cause('D036', { server: name }, name))
    printToStderr(`${name}: ${thrown.message}; fix: ${fix}`)
    return false
  }
}

/** Reuses the dialogue on the terminal; a second reader would take its lines. */
async function* pasted(): AsyncGenerator<string> {
  for (;;) yield await askUser('  ')
}
