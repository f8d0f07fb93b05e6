import type { ProxyConfig } from '../config/types.js'
import { Fault } from '../kernel/faults.js'
import type { ServerStatus } from '../status/status.js'
import { say } from './output/output.js'

export const loginOption = {
  type: 'boolean',
  describe: 'Sign in if a server requires it, then continue; the default on a terminal',
} as const

/** The states in which a person can help. */
const WANTS_LOGIN: ReadonlySet<unknown> = new Set(['needs-auth', 'insufficient-scope'])

/** The fault of the first server that waits for a person, as the call of one of its tools ends. */
export const loginFault = (servers: readonly ServerStatus[]): Fault | undefined => {
  const server = servers.find(({ state }) => WANTS_LOGIN.has(state))
  if (server === undefined) return undefined
  const { name, state: reason, why = 'it needs a login' } = server
  return new Fault('unauthorized', why, { data: { server: name, reason } })
}

/** A server that never lets us in is not signed in at for ever. */
const LOGINS_MAX = 3

/**
 * Does `work`; if it fails for want of a login, signs in and does it again, where `isWanted` or on a
 * terminal. `mayHelp` tells the work whether there would be another attempt.
 */
export const withLogins = async <T>(
  config: ProxyConfig,
  isWanted: boolean | undefined,
  work: (mayHelp: (server: string) => boolean) => Promise<T>,
): Promise<T> => {
  const logins = new Map<string, number>()
  const isOn = isWanted ?? (process.stdin.isTTY && process.stderr.isTTY)
  const mayHelp = (server: string): boolean => isOn && (logins.get(server) ?? 0) < LOGINS_MAX
  for (;;) {
    try {
      return await work(mayHelp)
    } catch (thrown) {
      const server = waitingServer(thrown)
      if (server === undefined || !mayHelp(server)) throw thrown
      logins.set(server, (logins.get(server) ?? 0) + 1)
      await signInAt(server, config).catch((failure: unknown) => {
        logins.set(server, LOGINS_MAX)
        say(`mcp-proxy: ${Fault.from(failure).message}`)
      })
    }
  }
}

/** The server that waits for a person, if that is why something failed. */
const waitingServer = (thrown: unknown): string | undefined => {
  const { reason, server } = (thrown instanceof Fault ? thrown.data : undefined) ?? {}
  return WANTS_LOGIN.has(reason) && typeof server === 'string' ? server : undefined
}

const TIMEOUT_MS = 5 * 60_000

const signInAt = async (name: string, config: ProxyConfig): Promise<void> => {
  const { signIn, signInServers } = await import('./verbs/auth/signing-in.js')
  const server = signInServers(config).find(one => one.name === name)
  const how = { usesBrowser: true, wantsDevice: false, forgetsClient: false, timeoutMs: TIMEOUT_MS, say }
  if (server !== undefined) await signIn(server, how)
}
