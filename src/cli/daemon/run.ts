import { setTimeout as delay } from 'node:timers/promises'
import { asking, occupantOf } from '../../control/daemon/daemon-lock.js'
import { cause } from '../../diagnostics/explain.js'
import { Fault } from '../../kernel/faults.js'
import { isObject, objectIn } from '../../kernel/object.js'
import { plainLine } from '../../kernel/secrets/plain-text.js'
import { askDaemon } from '../../shim/ask.js'
import { isService } from '../../shim/hello.js'
import { isAbsent } from '../../shim/place.js'
import {
  checkConfiguration,
  type DaemonPlace,
  daemonPlace,
  endRecordedAt,
  runningPlace,
  startedDaemon,
  wedged,
} from '../shared/daemon-place.js'
import { count, print, printToStderr } from '../shared/output/output.js'
import { pidOption } from '../shared/running.js'
import { causeError, configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

const keepOption = { type: 'boolean', describe: 'Keep running without clients' } as const

export const start = defineVerb({
  usage: 'start',
  describe: 'Start the daemon unless it is running, and wait until it is ready',
  flags: { config: configOption, keep: keepOption, json: jsonOption },
  examples: [
    ['mcp-proxy daemon start', 'Stops some time after its last client disconnects'],
    ['mcp-proxy daemon start --keep', 'Runs until it is stopped, with or without clients'],
    ['mcp-proxy daemon start --config mcp.json', 'For another configuration'],
  ],
  async run({ config, keep = false, json = false }) {
    const where = daemonPlace(config)
    const mayLeave = keep && (await isKept(where)) === false
    printStart(await (mayLeave ? restarted(where, keep) : startedDaemon(where, keep)), json)
    return EXIT.ok
  },
})

/** Returns whether the running daemon stays up without clients; undefined if none runs. */
const isKept = async ({ place }: DaemonPlace): Promise<boolean | undefined> => {
  const there = await occupantOf(place).catch(() => undefined)
  return there && there.kept !== undefined
}

export const stop = defineVerb({
  usage: 'stop',
  describe: 'Stop the daemon and its servers; connected clients start it again when they need it',
  flags: { config: configOption, pid: pidOption, json: jsonOption },
  examples: [
    ['mcp-proxy daemon stop', 'Waits for calls in flight, and lists their clients'],
    ['mcp-proxy daemon stop --config mcp.json', 'For another configuration'],
    ['mcp-proxy daemon stop && mcp-proxy serve', 'To watch it in a terminal'],
  ],
  async run({ config, pid, json = false }) {
    const clients = await stopDaemon(await runningPlace({ config, pid }))
    const wasThere = clients !== undefined
    if (json) print(JSON.stringify({ version: 1, stopped: wasThere, clients }))
    else if (wasThere) print('mcp-proxy has ended')
    else printToStderr('mcp-proxy: the daemon is not running')
    if (!json && wasThere && clients.length > 0) printToStderr(startAgainText(clients))
    return wasThere ? EXIT.ok : EXIT.negative
  },
})

export const restart = defineVerb({
  usage: 'restart',
  describe: 'Restart the daemon without disconnecting its clients',
  flags: { config: configOption, pid: pidOption, keep: keepOption, json: jsonOption },
  examples: [
    ['mcp-proxy daemon restart', 'Applies settings that need a restart, and a new version'],
    ['mcp-proxy daemon restart --keep', 'And keep running without clients'],
    ['mcp-proxy daemon restart --config mcp.json', 'For another configuration'],
  ],
  async run({ config, pid, keep = false, json = false }) {
    printStart(await restarted(await runningPlace({ config, pid }), keep), json)
    return EXIT.ok
  },
})

const printStart = (pid: number, isJson: boolean): void =>
  print(isJson ? JSON.stringify({ version: 1, pid }) : `mcp-proxy runs, pid ${pid}`)

/** Covers the end of calls, then servers, then the daemon. */
const END_MS = 25_000
const POLL_MS = 50

/** A client connected to the daemon when it was stopped. */
interface LeftClient {
  readonly client: string | undefined
  /** Process id of its shim. */
  readonly pid: number
  readonly calls: number
}

/**
 * Stops the daemon. Resolves once it has ended with the clients that will restart it; undefined if none runs.
 * Kills a daemon that does not answer. Rejects with a CliError.
 */
export const stopDaemon = async (where: DaemonPlace): Promise<readonly LeftClient[] | undefined> => {
  const { place } = where
  let why: unknown = new Fault('timeout', 'it was asked to end but still runs')
  try {
    const { body } = await askDaemon(asking(place), '/v1/stop', '')
    const { pid, calls, sessions } = objectIn(body) ?? {}
    const clients = clientsIn(sessions)
    for (const line of inFlight(calls, clients)) printToStderr(line)
    for (const endMs = performance.now() + END_MS; performance.now() < endMs; ) {
      // It may hang up while it ends.
      if ((await occupantOf(place).catch(() => ({ pid })))?.pid !== pid) return clients
      await delay(POLL_MS)
    }
  } catch (thrown) {
    if (isAbsent(thrown)) return undefined
    if (!(thrown instanceof Fault) || thrown.code !== 'timeout') throw wedged(thrown, where)
    why = thrown
  }
  if (!(await endRecordedAt(place))) throw wedged(why, where)
  printToStderr('mcp-proxy: the daemon did not answer (D042) and was killed')
  return []
}

const clientsIn = (sessions: unknown): readonly LeftClient[] => {
  const all: readonly unknown[] = Array.isArray(sessions) ? sessions : []
  return all.flatMap(one => {
    if (!isObject(one) || typeof one['pid'] !== 'number') return []
    const { client, pid, calls } = one
    return [
      {
        client: typeof client === 'string' ? client : undefined,
        pid,
        calls: typeof calls === 'number' ? calls : 0,
      },
    ]
  })
}

const inFlight = (calls: unknown, clients: readonly LeftClient[]): readonly string[] => {
  if (typeof calls !== 'number' || calls === 0) return []
  const busy = clients.filter(one => one.calls > 0)
  return [
    `waiting for ${count(calls, 'call')} in flight:`,
    ...busy.map(one => `  ${clientName(one)}: ${count(one.calls, 'call')}`),
  ]
}

const startAgainText = (clients: readonly LeftClient[]): string =>
  [
    `mcp-proxy: ${count(clients.length, 'client')} still connected; each starts the daemon again when it needs it:`,
    ...clients.map(one => `  ${clientName(one)}`),
  ].join('\n')

const clientName = ({ client, pid }: LeftClient): string =>
  client === undefined ? `client behind pid ${pid}` : `${plainLine(client)}, pid ${pid}`

const AGAIN_MS = 30_000

/**
 * Restarts the daemon and resolves with its process id; a service manager restarts its own daemon. Rejects
 * with a CliError.
 */
export const restarted = async (where: DaemonPlace, keep = false): Promise<number> => {
  await checkConfiguration(where.file)
  const { place } = where
  const before = await occupantOf(place).catch(() => undefined)
  const { kept } = before ?? {}
  if (!isService({ kept })) {
    await stopDaemon(where)
    return await startedDaemon(where, keep || kept === 'keep')
  }
  await askDaemon(asking(place), '/v1/hand-over', '')
  for (const endMs = performance.now() + AGAIN_MS; performance.now() < endMs; ) {
    await delay(POLL_MS)
    const now = await occupantOf(place).catch(() => undefined)
    if (now !== undefined && now.pid !== before?.pid) return now.pid
  }
  throw causeError(EXIT.failure, cause('cli.not-restarted', { kept: String(kept) }))
}
