import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { SIGNAL_CODES } from '../../app/shutdown.js'
import { asking } from '../../control/daemon/daemon-lock.js'
import type { ConfigFacts, DaemonFacts, TrialFacts } from '../../doctor/facts.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { homeFolder } from '../../kernel/machine/who-am-i.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { askDaemon } from '../../shim/ask.js'
import { Connector, NoDaemon } from '../../shim/connector.js'
import { placeId, placeOf, preparePlace, type RuntimePaths, thisMachine } from '../../shim/place.js'
import type { DaemonProgram } from '../../shim/start.js'

/** The shim's start timeout. */
const START_MS = 6000
const END_MS = 5000
const POLL_MS = 50
const LAST_LINES = 5

/**
 * Starts a daemon of the configuration at a separate place, where no client meets it, and stops it. Kills it
 * if it does not answer within `startMs`. Undefined if a daemon already runs, or that is unknown.
 */
export const tryDaemon = async (
  file: string,
  config: ConfigFacts | undefined,
  daemon: DaemonFacts | undefined,
  startMs = START_MS,
): Promise<TrialFacts | undefined> => {
  if (config?.loaded.config === undefined || daemon === undefined) return undefined
  if (daemon.state !== 'none' && daemon.state !== 'dead') return undefined
  const folder = mkdtempSync(join(tmpdir(), 'mcp-proxy-doctor-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  try {
    const env = { ...process.env, MCP_PROXY_RUN_DIR: join(folder, 'run') }
    const machine = thisMachine()
    const place = placeOf(placeId(file, machine.at), env, machine)
    preparePlace(place)
    return await tryAt(place, { file, env, startMs, remove })
  } finally {
    remove()
  }
}

interface TrialStart {
  readonly file: string
  readonly env: NodeJS.ProcessEnv
  readonly startMs: number
  /** Removes its folder. */
  readonly remove: () => void
}

const tryAt = async (
  place: RuntimePaths,
  { file, env, startMs, remove }: TrialStart,
): Promise<TrialFacts> => {
  let child: ChildProcess | undefined
  const release = onSignals(() => {
    child?.kill('SIGTERM')
    remove()
  })
  const program: DaemonProgram = {
    onStart: started => {
      child = started
    },
    execPath: process.execPath,
    script: fileURLToPath(packageFile('bin/mcp-proxy.js')),
    config: file,
    home: homeFolder(),
    env,
  }
  const hello = { version: IDENTITY.version, pid: process.pid, client: 'mcp-proxy doctor' }
  try {
    const connector = new Connector({ place, program, hello, tell: () => undefined })
    const { stream } = await connector.connect(startMs)
    stream.destroy()
    return { why: undefined }
  } catch (thrown) {
    if (!(thrown instanceof NoDaemon)) throw thrown
    const lines = lastLines(place.log)
    return { why: lines === '' ? thrown.message : `${thrown.message}; its log ends with: ${lines}` }
  } finally {
    await end(place)
    // It hung before it opened its socket.
    child?.kill('SIGKILL')
    release()
  }
}

/** Runs `work` and exits at a signal; a trial daemon is detached, so Ctrl-C does not reach it. */
const onSignals = (work: () => void): (() => void) => {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  const end = (signal: (typeof names)[number]): void => {
    work()
    process.exit(SIGNAL_CODES[signal])
  }
  for (const name of names) process.once(name, end)
  return () => {
    for (const name of names) process.off(name, end)
  }
}

const lastLines = (log: string): string => {
  try {
    const lines = readFileSync(log, 'utf8').trim().split('\n').slice(-LAST_LINES)
    return lines.map(line => sanitizeLine(line)).join(' | ')
  } catch {
    return ''
  }
}

/** Stops the daemon, if it runs, and waits for its end. */
const end = async (place: RuntimePaths): Promise<void> => {
  try {
    await askDaemon(asking(place), '/v1/stop', '')
    for (const endMs = performance.now() + END_MS; performance.now() < endMs; ) {
      await askDaemon(asking(place), '/v1/status')
      await delay(POLL_MS)
    }
  } catch {
    // Already gone.
  }
}
