import type { Engine } from './engine.js'

const TRIES = 5
const SLOW_MS = 100
const CLOCK_MS = 5000

/** What is wrong, and what mends it; `note` is for what is fine only under conditions that nobody can see. */
export interface ClusterFinding {
  readonly level: 'error' | 'warn' | 'note'
  /** The engine, or the address of a replica. */
  readonly subject: string
  readonly message: string
  readonly mend: string
}

/** What the engine says of itself, and how far away it is. */
export interface EngineFacts {
  readonly name: 'redis' | 'valkey'
  readonly version: string
  /** Undefined if it does not say. */
  readonly policy: string | undefined
  /** The shortest of some. */
  readonly roundTripMs: number
  /** How much its clock is ahead of ours. */
  readonly clockMs: number
}

/** Asks the engine. Rejects with its words if it refuses, with a Fault if it does not answer. */
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

/** What is wrong with an engine for replicas. */
export const engineFindings = ({
  name,
  version,
  policy,
  roundTripMs,
  clockMs,
}: EngineFacts): readonly ClusterFinding[] => {
  const findings: ClusterFinding[] = []
  const say = (level: ClusterFinding['level'], message: string, mend: string): void => {
    findings.push({ level, subject: 'engine', message, mend })
  }
  if (!isNewEnough(name, version))
    say(
      'error',
      `${name} ${version} is too old, or none that is known`,
      'use Redis 7.0, Valkey 7.2, or newer',
    )
  if (policy === undefined)
    say(
      'warn',
      'it does not say what it forgets when it is full',
      'see that "maxmemory-policy" is noeviction',
    )
  else if (policy !== 'noeviction' && !policy.startsWith('volatile-'))
    say('error', `it forgets sessions when it is full (${policy})`, 'set "maxmemory-policy" to noeviction')
  if (roundTripMs > SLOW_MS)
    say('warn', `it takes ${Math.round(roundTripMs)} ms to answer`, 'use one that is nearer')
  if (Math.abs(clockMs) > CLOCK_MS) {
    const seconds = Math.round(Math.abs(clockMs) / 1000)
    const way = clockMs > 0 ? 'behind' : 'ahead of'
    say('warn', `the clock here is ${seconds} s ${way} its clock`, 'have NTP set the clocks of all machines')
  }
  return findings
}

const isNewEnough = (name: EngineFacts['name'], version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 7 || (major === 7 && minor >= (name === 'valkey' ? 2 : 0))
}
