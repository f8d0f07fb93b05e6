import type { ProxyConfig } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import type { ServerStatus } from '../../telemetry/status/status.js'
import { printToStderr } from '../shared/output/output.js'

export const loginOption = {
  type: 'boolean',
  describe: 'Sign in if a server requires it, then continue; the default on a terminal',
} as const

/** Server states that a login resolves. */
const WANTS_LOGIN: ReadonlySet<unknown> = new Set(['needs-auth', 'insufficient-scope'])

/** Returns the fault of the first server that needs a login, as its tool calls report it. */
export const loginFault = (servers: readonly ServerStatus[]): Fault | undefined => {
  const server = servers.find(({ state }) => WANTS_LOGIN.has(state))
  if (server === undefined) return undefined
  const { name, state: reason, why = 'it needs a login' } = server
  return new Fault('unauthorized', why, { data: { server: name, reason } })
}

/** Bounds the logins at a server that keeps refusing them. */
const LOGINS_MAX = 3

/**
 * Runs `work`. If it fails for lack of a login, signs in and runs it again, when `isWanted` or on a terminal.
 * `mayHelp` tells `work` whether another attempt is possible.
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
        printToStderr(`mcp-proxy: ${Fault.from(failure).message}`)
      })
    }
  }
}

/** Returns the server whose missing login caused an error. */
const waitingServer = (thrown: unknown): string | undefined => {
  const { reason, server } = (thrown instanceof Fault ? thrown.data : undefined) ?? {}
  return WANTS_LOGIN.has(reason) && typeof server === 'string' ? server : undefined
}

const TIMEOUT_MS = 5 * 60_000

const signInAt = async (name: string, config: ProxyConfig): Promise<void> => {
  const { signIn, signInServers } = await import('../auth/signing-in.js')
  const server = signInServers(config).find(one => one.name === name)
  const how = {
    usesBrowser: true,
    wantsDevice: false,
    forgetsClient: false,
    timeoutMs: TIMEOUT_MS,
    print: printToStderr,
  }
  if (server !== undefined) await signIn(server, how)
}
