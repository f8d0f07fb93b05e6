import { setTimeout as delay } from 'node:timers/promises'
import { asking, occupantOf } from '../../../app/control/seat.js'
import { isObject } from '../../../kernel/object.js'
import { ask } from '../../../shim/ask.js'
import { isService } from '../../../shim/hello.js'
import { isNobody } from '../../../shim/place.js'
import { count, print, say } from '../../output/output.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../../verb.js'
import { type DaemonPlace, daemonPlace, startedDaemon, wedged } from './place.js'

const keepOption = { type: 'boolean', describe: 'Stay without clients' } as const

export const start = defineVerb({
  usage: 'start',
  describe: 'Start the daemon, unless it runs, and wait until it answers',
  flags: { config: configOption, keep: keepOption, json: jsonOption },
  examples: [
    ['mcp-proxy daemon start', 'Ends by itself some time after its last client'],
    ['mcp-proxy daemon start --keep', 'Runs until it is stopped, with or without clients'],
    ['mcp-proxy daemon start --config mcp.json', 'That of another configuration'],
  ],
  async run({ config, keep = false, json = false }) {
    const where = daemonPlace(config)
    const mayLeave = keep && (await isKept(where)) === false
    tellStart(await (mayLeave ? restarted(where, keep) : startedDaemon(where, keep)), json)
    return EXIT.ok
  },
})

/** Whether the daemon that runs stays without clients; undefined if none is there. */
const isKept = async ({ place }: DaemonPlace): Promise<boolean | undefined> => {
  const there = await occupantOf(place).catch(() => undefined)
  return there && there.kept !== undefined
}

export const stop = defineVerb({
  usage: 'stop',
  describe: 'End the daemon and its servers; clients that are still there start it again when they need it',
  flags: { config: configOption, json: jsonOption },
  examples: [
    ['mcp-proxy daemon stop', 'Waits for calls that are under way, and says which clients had any'],
    ['mcp-proxy daemon stop --config mcp.json', 'That of another configuration'],
    ['mcp-proxy daemon stop && mcp-proxy serve', 'To watch it in a terminal'],
  ],
  async run({ config, json = false }) {
    const wasThere = await stopped(daemonPlace(config))
    if (json) print(JSON.stringify({ version: 1, stopped: wasThere }))
    else if (wasThere) print('mcp-proxy has ended')
    else say('mcp-proxy: there is no daemon to stop')
    return wasThere ? EXIT.ok : EXIT.negative
  },
})

export const restart = defineVerb({
  usage: 'restart',
  describe: 'End the daemon and start it again, as it was kept; its clients notice nothing',
  flags: { config: configOption, keep: keepOption, json: jsonOption },
  examples: [
    ['mcp-proxy daemon restart', 'With the settings that need a restart, and the version installed'],
    ['mcp-proxy daemon restart --keep', 'And stay without clients'],
    ['mcp-proxy daemon restart --config mcp.json', 'That of another configuration'],
  ],
  async run({ config, keep = false, json = false }) {
    tellStart(await restarted(daemonPlace(config), keep), json)
    return EXIT.ok
  },
})

const tellStart = (pid: number, isJson: boolean): void =>
  print(isJson ? JSON.stringify({ version: 1, pid }) : `mcp-proxy runs, pid ${pid}`)

/** Calls, then servers, then we. */
const END_MS = 25_000
const POLL_MS = 50

/** Ends the daemon, and resolves once it has ended; false if there is none. */
const stopped = async (where: DaemonPlace): Promise<boolean> => {
  const { place } = where
  try {
    const { body } = await ask(asking(place), '/v1/stop', '')
    const answer: unknown = JSON.parse(body)
    const { pid, calls, sessions }: Record<string, unknown> = isObject(answer) ? answer : {}
    for (const line of underWay(calls, sessions)) say(line)
    for (const endMs = performance.now() + END_MS; performance.now() < endMs; ) {
      // On its way out it may hang up.
      if ((await occupantOf(place).catch(() => ({ pid })))?.pid !== pid) return true
      await delay(POLL_MS)
    }
  } catch (thrown) {
    if (isNobody(thrown)) return false
    throw wedged(thrown, where)
  }
  throw wedged(new Error('it was told to end, and still runs'), where)
}

const underWay = (calls: unknown, sessions: unknown): readonly string[] => {
  if (typeof calls !== 'number' || calls === 0) return []
  const all: readonly unknown[] = Array.isArray(sessions) ? sessions : []
  const lines = all.flatMap(one =>
    isObject(one) && typeof one['calls'] === 'number' && one['calls'] > 0
      ? [`  ${clientName(one)}: ${count(one['calls'], 'call')}`]
      : [],
  )
  return [`waiting for ${count(calls, 'call')} under way:`, ...lines]
}

const clientName = ({ client, pid }: Record<string, unknown>): string =>
  typeof client === 'string' ? client : `client behind pid ${String(pid)}`

const AGAIN_MS = 30_000

/**
 * Has the daemon start again, and resolves with its process id; a manager of services that keeps it does that
 * itself. Rejects with a CliError.
 */
export const restarted = async (where: DaemonPlace, keep = false): Promise<number> => {
  const { place } = where
  const before = await occupantOf(place).catch(() => undefined)
  const { kept } = before ?? {}
  if (!isService({ kept })) {
    await stopped(where)
    return await startedDaemon(where, keep || kept === 'keep')
  }
  await ask(asking(place), '/v1/hand-over', '')
  for (const endMs = performance.now() + AGAIN_MS; performance.now() < endMs; ) {
    await delay(POLL_MS)
    const now = await occupantOf(place).catch(() => undefined)
    if (now !== undefined && now.pid !== before?.pid) return now.pid
  }
  const mend = 'mcp-proxy service status'
  throw new CliError(EXIT.failure, `${kept} has not started the proxy again`, { mend })
}
