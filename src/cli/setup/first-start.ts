import { platform } from 'node:process'
import type { ProxyConfig, ServerConfig } from '../../config/types.js'
import { cause, type Explained, explain } from '../../diagnostics/explain.js'
import { failureText, missingProgram } from '../../doctor/checks/servers.js'
import { Fault } from '../../kernel/faults.js'
import { mask } from '../../kernel/secrets/mask.js'
import type { ServerStatus } from '../../telemetry/status/status.js'
import { inProcess } from '../shared/in-process.js'
import { count, oneLineText, printToStderr } from '../shared/output/output.js'
import { mark } from '../shared/output/terminal.js'
import { wrappedText } from '../shared/output/wrap.js'
import { CliError, EXIT } from '../shared/verb.js'
import { type StartVerdict, UNCHOSEN } from './client-moves.js'

/** The result of a server's first start. */
export interface Started {
  readonly name: string
  /** Undefined if it did not start. */
  readonly tools: number | undefined
  readonly ms: number | undefined
  /** `waiting` is not a failure: the server needs a folder or value that a client provides. */
  readonly state: 'ready' | 'waiting' | 'failed'
  readonly needsLogin: boolean
  /** Message with its problem number, without secrets. */
  readonly problem: string | undefined
  /** Reason why it may not replace a client's server; undefined if it may. Without secrets. */
  readonly why: string | undefined
}

/** Starts all servers once and prints each result. Rejects with a CliError at a signal. */
export const startOnce = async (
  config: ProxyConfig,
  stopped: () => number | undefined = () => undefined,
): Promise<readonly Started[]> => {
  const beganMs = performance.now()
  let found: readonly Started[] = []
  const code = await inProcess(config, { level: 'silent', isRemembered: true, stopped }, async session => {
    // Without an answering server this rejects; the report below covers each server's error.
    await session.client.list('tools').catch(expectFault)
    const spentMs = performance.now() - beganMs
    found = session.status().map(status => resultOf(status, config.servers, spentMs))
    return { code: EXIT.ok, show: () => undefined }
  })
  if (code !== EXIT.ok) throw new CliError(code, 'stopped')
  for (const each of found) printStarted(each)
  return found
}

const printStarted = ({ name, tools, ms = 0, state, problem: message }: Started): void => {
  const good = `${count(tools ?? 0, 'tool')}, ${(ms / 1000).toFixed(1)} s`
  const sign = state === 'waiting' ? '!' : mark(message === undefined)
  printToStderr(wrappedText(`${sign} ${oneLineText(name)}  ${message ?? good}`))
}

const expectFault = (thrown: unknown): void => {
  if (!(thrown instanceof Fault)) throw thrown
}

const resultOf = (status: ServerStatus, servers: readonly ServerConfig[], spentMs: number): Started => {
  const { name, state, items, stateMs, doctor, why } = status
  const base = {
    name,
    tools: undefined,
    ms: undefined,
    problem: undefined,
    why: undefined,
    needsLogin: false,
  }
  if (state === 'ready') {
    const ms = Math.max(0, Math.round(spentMs - stateMs))
    return { ...base, tools: items?.tools ?? 0, ms, state }
  }
  if (state === 'waiting') {
    const isForFolder = doctor === 'D033'
    return { ...base, state, problem: why, why: isForFolder ? undefined : maskedLine(why ?? 'it waits') }
  }
  const trouble = troubleOf(
    status,
    servers.find(each => each.name === name),
  )
  const cause = trouble.why === undefined ? '' : ` (${trouble.why})`
  return {
    ...base,
    state: 'failed',
    needsLogin: doctor === 'D036',
    problem: mask(problemText(trouble)),
    why: maskedLine(doctor === 'D036' ? trouble.message : `${trouble.id}: ${trouble.message}${cause}`),
  }
}

const maskedLine = (text: string): string => oneLineText(mask(text))

/**
 * Returns why a server may not replace a client's server; undefined if it may. A replacement must have been
 * seen to run, or wait only for a folder.
 */
export const verdictOn =
  (started: readonly Started[]): StartVerdict =>
  (name, isNew) => {
    if (isNew) return UNCHOSEN
    const found = started.find(each => each.name === name)
    return found === undefined ? 'it was not started' : found.why
  }

/** Formats a problem as one line. */
export const problemText = ({ id, message, why, fix }: Explained): string =>
  `${id}: ${message}${why === undefined ? '' : ` (${oneLineText(why)})`}; fix: ${fix}`

/** Causes with a fix of their own. */
const STATED = ['D035.http', 'D035.credentials', 'D035.certificate', 'D035.proxy'] as const

/** Returns the problem of a server that was started once; its texts may contain secrets. */
export const troubleOf = (
  { name: server, doctor, cause: absence, transport, why: reason, stderr: stderrTail = [] }: ServerStatus,
  config?: ServerConfig,
): Explained => {
  const why = failureText({ why: reason, stderrTail })
  if (doctor === 'D036') return explain(cause('D036', { server }, server))
  if (config?.transport.kind === 'stdio' && doctor === 'D030') {
    const { command } = config.transport
    return missingProgram({ command, server }, platform)
  }
  const stated = STATED.find(code => code === absence?.code)
  return explain(cause(stated ?? (transport === 'stdio' ? 'D031' : 'D035'), { server, why }, server))
}
