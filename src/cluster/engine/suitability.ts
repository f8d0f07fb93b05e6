import type { Engine } from './engine.js'

const TRIES = 5
const SLOW_MS = 100
const CLOCK_MS = 5000

/** A problem and its fix; a `note` depends on conditions that the proxy cannot check. */
export interface ClusterFinding {
  readonly level: 'error' | 'warn' | 'note'
  /** The engine, or the address of a replica. */
  readonly subject: string
  readonly message: string
  readonly fix: string
}

/** Facts about the engine and its round trip. */
export interface EngineFacts {
  readonly name: 'redis' | 'valkey'
  readonly version: string
  /** Undefined if the engine does not report it. */
  readonly policy: string | undefined
  /** The shortest of several measurements. */
  readonly roundTripMs: number
  /** Milliseconds by which the engine's clock is ahead of the local one. */
  readonly clockMs: number
}

/** Queries the engine. Rejects with its error reply, or a Fault if it does not answer. */
export const engineFacts = async (engine: Engine, wallMs: () => number): Promise<EngineFacts> => {
  const info = String(await engine.send(['INFO']))
  const value = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
  const valkey = value('valkey_version')
  const isValkey = valkey !== undefined || value('server_name') === 'valkey'
  let [roundTripMs, clockMs] = [Number.POSITIVE_INFINITY, 0]
  for (let n = 0; n < TRIES; n += 1) {
    const beganMs = performance.now()
    const said = await engine.send(['TIME'])
    const tookMs = performance.now() - beganMs
    if (tookMs >= roundTripMs || !Array.isArray(said)) continue
    roundTripMs = tookMs
    clockMs = Number(said[0]) * 1000 + Number(said[1]) / 1000 - (wallMs() - tookMs / 2)
  }
  return {
    name: isValkey ? 'valkey' : 'redis',
    version: valkey ?? value('redis_version') ?? '?',
    policy: value('maxmemory_policy'),
    roundTripMs: Math.round(roundTripMs * 100) / 100,
    clockMs: Math.round(clockMs),
  }
}

/** Finds problems of an engine for use by replicas. */
export const engineFindings = ({
  name,
  version,
  policy,
  roundTripMs,
  clockMs,
}: EngineFacts): readonly ClusterFinding[] => {
  const findings: ClusterFinding[] = []
  const say = (level: ClusterFinding['level'], message: string, fix: string): void => {
    findings.push({ level, subject: 'engine', message, fix })
  }
  if (!isNewEnough(name, version))
    say('error', `${name} ${version} is too old or unknown`, 'use Redis 7.0, Valkey 7.2, or newer')
  if (policy === undefined)
    say(
      'warn',
      'the engine does not report its eviction policy',
      'make sure that "maxmemory-policy" is noeviction',
    )
  else if (policy !== 'noeviction' && !policy.startsWith('volatile-'))
    say(
      'error',
      `the engine evicts sessions when it is full (${policy})`,
      'set "maxmemory-policy" to noeviction',
    )
  if (roundTripMs > SLOW_MS)
    say(
      'warn',
      `the engine takes ${Math.round(roundTripMs)} ms to answer`,
      'use an engine closer to the replicas',
    )
  if (Math.abs(clockMs) > CLOCK_MS) {
    const seconds = Math.round(Math.abs(clockMs) / 1000)
    const way = clockMs > 0 ? 'behind' : 'ahead of'
    say('warn', `the local clock is ${seconds} s ${way} the engine's`, 'synchronize all clocks with NTP')
  }
  return findings
}

const isNewEnough = (name: EngineFacts['name'], version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 7 || (major === 7 && minor >= (name === 'valkey' ? 2 : 0))
}
