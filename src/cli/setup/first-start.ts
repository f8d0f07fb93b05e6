import { platform } from 'node:process'
import type { ServerStatus } from '../../app/status.js'
import type { ProxyConfig, ServerConfig } from '../../config/types.js'
import { howToGet } from '../../doctor/checks/servers.js'
import { Fault } from '../../kernel/faults.js'
import { tellingLines } from '../../kernel/telling-lines.js'
import { type Problem, problem } from '../../problems/problem.js'
import { mask } from '../../secrets/mask.js'
import { inProcess } from '../in-process.js'
import { mark } from '../output/look.js'
import { count, oneLine, say } from '../output/output.js'
import { CliError, EXIT } from '../verb.js'

/** How the first start of a server went. */
export interface Started {
  readonly name: string
  /** Undefined if it did not start. */
  readonly tools: number | undefined
  readonly ms: number | undefined
  /** One that waits has not failed: a client brings what it needs. */
  readonly state: 'ready' | 'waiting' | 'failed'
  /** With its number, and without secrets. */
  readonly problem: string | undefined
}

/**
 * Starts all servers once, and prints for each its number of tools or its problem. Rejects with a CliError at a
 * signal.
 */
export const startOnce = async (
  config: ProxyConfig,
  stopped: () => number | undefined = () => undefined,
): Promise<readonly Started[]> => {
  const beganMs = performance.now()
  let found: readonly Started[] = []
  const code = await inProcess(config, { level: 'silent', isRemembered: true, stopped }, async session => {
    // Where no server answers there is no list; each says why for itself.
    await session.client.list('tools').catch(expectFault)
    const spentMs = performance.now() - beganMs
    found = session.status().map(status => resultOf(status, config.servers, spentMs))
    return { code: EXIT.ok, show: () => undefined }
  })
  if (code !== EXIT.ok) throw new CliError(code, 'stopped')
  for (const { name, tools, ms = 0, state, problem: words } of found) {
    const good = `${count(tools ?? 0, 'tool')}, ${(ms / 1000).toFixed(1)} s`
    say(`${state === 'waiting' ? '!' : mark(words === undefined)} ${name}  ${words ?? good}`)
  }
  return found
}

const expectFault = (thrown: unknown): void => {
  if (!(thrown instanceof Fault)) throw thrown
}

const resultOf = (status: ServerStatus, servers: readonly ServerConfig[], spentMs: number): Started => {
  const { name, state, items, stateMs } = status
  if (state === 'ready') {
    return {
      name,
      tools: items?.tools ?? 0,
      ms: Math.max(0, Math.round(spentMs - stateMs)),
      state,
      problem: undefined,
    }
  }
  if (state === 'waiting') return { name, tools: undefined, ms: undefined, state, problem: status.why }
  const trouble = troubleOf(
    status,
    servers.find(each => each.name === name),
  )
  return { name, tools: undefined, ms: undefined, state: 'failed', problem: mask(problemWords(trouble)) }
}

/** A problem as one line. */
export const problemWords = ({ id, message, why, mend }: Problem): string =>
  `${id}: ${message}${why === undefined ? '' : ` (${oneLine(why)})`}; mend: ${mend}`

const LAST_LINES = 5

/** What is wrong with a server that was started once, by its number; secrets may be in it. */
export const troubleOf = (
  { name: server, doctor, transport, why: reason = 'no answer in time', stderr = [] }: ServerStatus,
  config?: ServerConfig,
) => {
  const said = tellingLines(stderr, LAST_LINES)
  const why = said.length === 0 ? reason : `${reason}; it last wrote: ${said.join(' | ')}`
  if (doctor === 'D036') return problem('D036', { server })
  if (config?.transport.kind === 'stdio' && doctor === 'D030') {
    const { command } = config.transport
    return problem('D030', { server, command }, { mend: howToGet(command, platform) })
  }
  return problem(transport === 'stdio' ? 'D031' : 'D035', { server }, { why })
}
