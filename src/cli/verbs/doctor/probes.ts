import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { probeServers } from '../../../app/probe.js'
import type { ServerConfig } from '../../../config/types.js'
import { asking } from '../../../control/daemon/daemon-lock.js'
import type { ConfigFacts, DaemonFacts, Probe } from '../../../doctor/facts.js'
import { isObject, objectIn } from '../../../kernel/object.js'
import { askDaemon } from '../../../shim/ask.js'
import { readPrivate, writePrivate } from '../../../state/private-file.js'
import { stateDir } from '../../../state/state-key.js'
import type { ServerProbe } from '../../../status/probed.js'
import { askAddress } from './addresses.js'
import { placeAt } from './machine.js'

/** What tools said when they were first seen: digests by server and tool. */
type Seen = Record<string, Record<string, { description: string; schema: string }>>

const VERSION = 2
const SEEN_BYTES = 8 * 1024 * 1024

/** Of each configuration, as its servers may have equal names. */
const seenFile = (file: string): string =>
  join(stateDir(process.env), 'seen', `${createHash('sha256').update(file).digest('hex').slice(0, 16)}.json`)

const readSeen = (path: string): Seen => {
  try {
    const value: unknown = JSON.parse(readPrivate(path, SEEN_BYTES)?.toString() ?? '{}')
    // Version 1 had digests that depended on the order of members.
    const isKnown = isObject(value) && value['version'] === VERSION && isObject(value['servers'])
    return isKnown ? (value['servers'] as Seen) : {}
  } catch {
    return {}
  }
}

/** A name of a peer may be `__proto__`. */
const at = <T>(record: Record<string, T>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

export interface ProbeOptions {
  readonly servers: readonly ServerConfig[]
  readonly timeoutMs: number
  /** The state of the daemon of this configuration. */
  readonly daemon: DaemonFacts | undefined
  /** Called with the servers of which copies are started. */
  readonly onCopies?: ((servers: readonly string[]) => void) | undefined
}

/**
 * Examines all servers that need no workspace, and remembers new tools. A running daemon is asked about its
 * servers; copies are started of the others.
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
      const url = transport !== undefined && 'url' in transport ? transport.url : undefined
      const isAsked = probe.state !== 'ready' && url !== undefined && /^https?:/.test(url)
      return {
        ...probe,
        address: isAsked ? await askAddress(url) : undefined,
        tools: probe.tools.map(tool => ({ ...tool, seen: at(at(seen, probe.server) ?? {}, tool.name) })),
      }
    }),
  )
  await remember(path, seen, probes, false)
  return probes
}

/** Beyond the time that the daemon takes for a server. */
const ANSWER_MS = 3000

/** The daemon's verdicts on its servers; servers that it cannot examine are missing. */
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
        // The daemon has ended, or hangs.
        return undefined
      }
    }),
  )
  return found.filter(probe => probe !== undefined)
}

/** Takes all tools as they are now for what was first seen. */
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
  // Without it nothing is known to have changed; a disk that is full is told by D006.
  await writePrivate(path, text).catch(() => undefined)
}
