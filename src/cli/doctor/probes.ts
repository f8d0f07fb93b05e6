import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { probeServers } from '../../app/probe.js'
import type { ServerConfig } from '../../config/types.js'
import { asking } from '../../control/daemon/daemon-lock.js'
import type { ConfigFacts, DaemonFacts, Probe } from '../../doctor/facts.js'
import { isObject, objectIn } from '../../kernel/object.js'
import { askDaemon } from '../../shim/ask.js'
import { readPrivate, writePrivate } from '../../state/private-file.js'
import { stateDir } from '../../state/state-key.js'
import type { ServerProbe } from '../../telemetry/status/probed.js'
import { askAddress } from './addresses.js'
import { placeAt } from './machine.js'

/** Digests of tool descriptions and schemas when first seen, by server and tool. */
type Seen = Record<string, Record<string, { description: string; schema: string }>>

const VERSION = 2
const SEEN_BYTES = 8 * 1024 * 1024

/** One file per configuration, because servers of two configurations may share a name. */
const seenFile = (file: string): string =>
  join(stateDir(process.env), 'seen', `${createHash('sha256').update(file).digest('hex').slice(0, 16)}.json`)

const readSeen = (path: string): Seen => {
  try {
    const value: unknown = JSON.parse(readPrivate(path, SEEN_BYTES)?.toString() ?? '{}')
    // Digests of version 1 depended on member order.
    const isKnown = isObject(value) && value['version'] === VERSION && isObject(value['servers'])
    return isKnown ? (value['servers'] as Seen) : {}
  } catch {
    return {}
  }
}

/** Guards against a peer's name such as `__proto__`. */
const at = <T>(record: Record<string, T>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

export interface ProbeOptions {
  readonly servers: readonly ServerConfig[]
  readonly timeoutMs: number
  /** State of this configuration's daemon. */
  readonly daemon: DaemonFacts | undefined
  /** Called with the servers whose copies are started. */
  readonly onCopies?: ((servers: readonly string[]) => void) | undefined
}

/**
 * Examines all servers that need no workspace, and remembers new tools. Asks a running daemon about its
 * servers and starts copies of the others.
 */
export const readProbes = async (
  file: string,
  { loaded }: ConfigFacts,
  { servers, timeoutMs, daemon, onCopies }: ProbeOptions,
): Promise<readonly Probe[]> => {
  const { config } = loaded
  if (config === undefined) return []
  const free = servers.filter(({ sharing }) => sharing !== 'workspace')
  const served = daemon?.state === 'serves' ? await probeThroughDaemon(file, free, timeoutMs) : []
  const others = free.filter(({ name }) => !served.some(({ server }) => server === name))
  if (others.length > 0) onCopies?.(others.map(({ name }) => name))
  const found = [...served, ...(await probeServers(config, others, timeoutMs))]
  const path = seenFile(file)
  const seen = readSeen(path)
  const probes = await Promise.all(
    found.map(async (probe): Promise<Probe> => {
      const transport = config.servers.find(({ name }) => name === probe.server)?.transport
      const remote = transport !== undefined && 'url' in transport ? transport : undefined
      const isAsked =
        probe.state !== 'ready' && remote?.socketPath === undefined && /^https?:/.test(remote?.url ?? '')
      return {
        ...probe,
        address: isAsked && remote ? await askAddress(probe.server, remote) : undefined,
        tools: probe.tools.map(tool => ({ ...tool, seen: at(at(seen, probe.server) ?? {}, tool.name) })),
      }
    }),
  )
  await remember(path, seen, probes, false)
  return probes
}

/** Added to the daemon's own time limit for a server. */
const ANSWER_MS = 3000

/** Returns the daemon's verdicts on its servers, except servers that it cannot examine. */
const probeThroughDaemon = async (
  file: string,
  servers: readonly ServerConfig[],
  timeoutMs: number,
): Promise<readonly ServerProbe[]> => {
  const place = placeAt(file)
  if (place === undefined) return []
  const found = await Promise.all(
    servers.map(async ({ name }) => {
      try {
        const target = `/v1/servers/${encodeURIComponent(name)}/probe`
        const asked = asking(place, timeoutMs + ANSWER_MS)
        const { status, body } = await askDaemon(asked, target, JSON.stringify({ timeoutMs }))
        const probe = status === 200 ? objectIn(body)?.['probe'] : undefined
        return isObject(probe) ? (probe as unknown as ServerProbe) : undefined
      } catch {
        // The daemon has ended or hangs.
        return undefined
      }
    }),
  )
  return found.filter(probe => probe !== undefined)
}

/** Accepts the current tools as the new baseline. */
export const acceptTools = async (file: string, probes: readonly Probe[]): Promise<void> => {
  const path = seenFile(file)
  await remember(path, readSeen(path), probes, true)
}

const remember = async (
  path: string,
  seen: Seen,
  probes: readonly Probe[],
  isReplacing: boolean,
): Promise<void> => {
  const next: Seen = { ...seen }
  for (const { server, tools } of probes) {
    const now = Object.fromEntries(tools.map(({ name, digests }) => [name, digests]))
    next[server] = isReplacing ? { ...next[server], ...now } : { ...now, ...next[server] }
  }
  const text = `${JSON.stringify({ version: VERSION, servers: next })}\n`
  if (Buffer.byteLength(text) > SEEN_BYTES || JSON.stringify(next) === JSON.stringify(seen)) return
  // Without the file, later changes go unnoticed; D006 reports a full disk.
  await writePrivate(path, text).catch(() => undefined)
}
