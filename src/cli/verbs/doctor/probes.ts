import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { probeServers } from '../../../app/probe.js'
import { readPrivate, writePrivate } from '../../../app/state/private-file.js'
import { stateDir } from '../../../app/state/state-key.js'
import type { ServerConfig } from '../../../config/types.js'
import type { ConfigFacts, Probe } from '../../../doctor/facts.js'
import { isObject } from '../../../kernel/object.js'
import { askAddress } from './addresses.js'

/** What tools said when they were first seen: digests by server and tool. */
type Seen = Record<string, Record<string, { description: string; schema: string }>>

const SEEN_BYTES = 8 * 1024 * 1024

/** Of each configuration, as its servers may have equal names. */
const seenFile = (file: string): string =>
  join(stateDir(process.env), 'seen', `${createHash('sha256').update(file).digest('hex').slice(0, 16)}.json`)

const readSeen = (path: string): Seen => {
  try {
    const value: unknown = JSON.parse(readPrivate(path, SEEN_BYTES)?.toString() ?? '{}')
    return isObject(value) && isObject(value['servers']) ? (value['servers'] as Seen) : {}
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
}

/** Starts and asks all servers that need no workspace, and remembers tools that are new. */
export const readProbes = async (
  file: string,
  { loaded }: ConfigFacts,
  { servers, timeoutMs }: ProbeOptions,
): Promise<readonly Probe[]> => {
  const { config } = loaded
  if (config === undefined) return []
  const free = servers.filter(({ sharing }) => sharing !== 'workspace')
  const found = await probeServers(config, free, timeoutMs)
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
  const text = `${JSON.stringify({ version: 1, servers: next })}\n`
  if (Buffer.byteLength(text) > SEEN_BYTES || JSON.stringify(next) === JSON.stringify(seen)) return
  // Without it nothing is known to have changed; a disk that is full is told by D006.
  await writePrivate(path, text).catch(() => undefined)
}
