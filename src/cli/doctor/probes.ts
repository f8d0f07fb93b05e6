import { probeServers } from '../../app/probe.js'
import type { ServerConfig } from '../../config/types.js'
import { asking } from '../../control/daemon/daemon-lock.js'
import type { ConfigFacts, DaemonFacts, Probe } from '../../doctor/facts.js'
import { isObject, objectIn } from '../../kernel/object.js'
import { askDaemon } from '../../shim/ask.js'
import type { ServerProbe } from '../../telemetry/status/probed.js'
import { askAddress } from './addresses.js'
import { placeAt } from './machine.js'

export interface ProbeOptions {
  readonly servers: readonly ServerConfig[]
  readonly timeoutMs: number
  /** State of this configuration's daemon. */
  readonly daemon: DaemonFacts | undefined
  /** Called with the servers whose copies are started. */
  readonly onCopies?: ((servers: readonly string[]) => void) | undefined
}

/**
 * Examines all servers that need no workspace. Asks a running daemon about its
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
  return await Promise.all(
    found.map(async (probe): Promise<Probe> => {
      const transport = config.servers.find(({ name }) => name === probe.server)?.transport
      const remote = transport !== undefined && 'url' in transport ? transport : undefined
      const isAsked =
        probe.state !== 'ready' && remote?.socketPath === undefined && /^https?:/.test(remote?.url ?? '')
      return {
        ...probe,
        address: isAsked && remote ? await askAddress(probe.server, remote) : undefined,
      }
    }),
  )
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
