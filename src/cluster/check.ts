import { randomBytes } from 'node:crypto'
import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { silentLogger } from '../kernel/logger.js'
import type { HttpClient } from '../wire/http.js'
import { Engine } from './engine/engine.js'
import { createEngineStore, readMembers } from './engine/engine-store.js'
import type { ClusterMember } from './engine/store.js'
import { type ClusterFinding, type EngineFacts, engineFacts, engineFindings } from './engine/suitability.js'
import { hasKeysOf, KeyRing } from './key-ring.js'
import { REPLACED, UNSIGNED } from './link/forwarding.js'
import { LinkSeal } from './link/link-seal.js'
import { PeerLinks } from './link/peer-links.js'

/** Exceeds the connection timeout. */
const REACH_MS = 3000
const LEASE_MS = 1000
const ID_BYTES = 8

export interface ClusterReport {
  /** Undefined if the engine is unreachable or its INFO cannot be read. */
  readonly engine: EngineFacts | undefined
  readonly members: readonly (Pick<ClusterMember, 'id' | 'address' | 'state' | 'version'> & {
    readonly link: 'up' | 'down'
  })[]
  readonly findings: readonly ClusterFinding[]
}

export interface CheckOptions {
  readonly url: string
  readonly prefix: string
  /** Each is 32 bytes in base64. */
  readonly keys: readonly string[]
  readonly http: HttpClient
  readonly scheme: 'http' | 'https'
  readonly clock: Clock
  /** Digest of the local configuration. */
  readonly digest: string
  /** Returns the time of day, in milliseconds. */
  readonly wallMs: () => number
}

/** Checks whether replicas can form a cluster, without joining it. Leaves no data in the engine. */
export const checkCluster = async (options: CheckOptions): Promise<ClusterReport> => {
  const { url, prefix, keys, http, scheme, clock } = options
  const id = randomBytes(ID_BYTES).toString('hex')
  const ring = new KeyRing(keys)
  const engine = new Engine({ url, clock, log: silentLogger })
  const links = new PeerLinks({ http, seal: new LinkSeal(ring, id), clock, scheme })
  try {
    const unreached = await reached(engine, clock)
    if (unreached !== undefined) return { engine: undefined, members: [], findings: [unreached] }
    const facts = await engineFacts(engine, options.wallMs).catch(refusal)
    const scripts = await tryScripts(engine, { prefix, id }).catch(refusal)
    const members = await readMembers(engine, prefix).catch(() => [])
    const digest = ring.nameOf(`configuration ${options.digest}`)
    const peers = await Promise.all(members.map(member => checkPeer(member, { links, ring, digest })))
    const findings = [
      ...('level' in facts ? [facts] : engineFindings(facts)),
      ...(scripts === undefined ? [] : [scripts]),
      ...peers.flatMap(peer => peer.findings),
      ...(scheme === 'http' && members.length > 1 ? [PLAIN] : []),
    ]
    return {
      engine: 'level' in facts ? undefined : facts,
      members: peers.map(({ member: { id, address, state, version }, link }) => ({
        ...{ id, address, state, version, link },
      })),
      findings,
    }
  } finally {
    await links.close()
    await engine.close()
  }
}

const PLAIN: ClusterFinding = {
  ...{
    level: 'note',
    subject: 'peer',
    message: 'replicas talk in plain HTTP: messages are signed but not encrypted',
  },
  fix: 'set "cluster.peer.tls", unless the network between replicas is private or encrypted',
}

// ── the engine ──

const wrong = (message: string, fix: string): ClusterFinding => ({
  ...{ level: 'error', subject: 'engine', message, fix },
})

const messageOf = (thrown: unknown): string => {
  const { message = '', code = '' } = thrown as { message?: string; code?: string }
  return message || code || String(thrown)
}

const reached = async (engine: Engine, clock: Clock): Promise<ClusterFinding | undefined> => {
  const opened = engine.opened.then(() => true)
  try {
    if ((await within(opened, { clock, ms: REACH_MS })) === true) return undefined
    return wrong('the engine does not answer', 'start it, or correct "cluster.url"')
  } catch (thrown) {
    if (/^(?:WRONGPASS|NOAUTH|NOPERM)/.test(messageOf(thrown))) return refusal(thrown)
    return wrong(`cannot connect to the engine: ${messageOf(thrown)}`, 'start it, or correct "cluster.url"')
  }
}

/** Explains an error reply of the engine. */
const refusal = (thrown: unknown): ClusterFinding => {
  const message = messageOf(thrown)
  if (/^(?:WRONGPASS|NOAUTH)/.test(message))
    return wrong(`login failed: ${message}`, 'correct user and password in "cluster.url"')
  if (/NOPERM|can't run this command|permission/i.test(message))
    return wrong(`the user lacks permissions: ${message}`, 'grant the permissions listed in docs/cluster.md')
  if (/^(?:MOVED|READONLY|CLUSTERDOWN)/.test(message))
    return wrong(`not a single primary: ${message}`, 'set "cluster.url" to the primary')
  return wrong(`cannot run scripts: ${message}`, 'use Redis 7.0, Valkey 7.2, or newer')
}

/** Runs each script once, on temporary keys instead of the real ones. */
const tryScripts = async (
  engine: Engine,
  { prefix, id }: { readonly prefix: string; readonly id: string },
): Promise<undefined> => {
  const own = `${prefix}:{m}:check-${id}`
  const store = createEngineStore(engine, own)
  const facts = {
    address: '',
    version: '',
    keys: [],
    state: 'draining',
    sinceMs: Number.POSITIVE_INFINITY,
  } as const
  try {
    await store.beat(id, facts, LEASE_MS)
    await store.write(id, { owner: id, epoch: 1, sealed: Buffer.alloc(1) }, LEASE_MS)
    await store.claim(id, id, LEASE_MS)
    await store.read(id)
    await store.remove(id, id)
    await store.take(id, id, LEASE_MS)
    await store.release(id, id)
    await store.note(id, Buffer.alloc(1), LEASE_MS)
    await store.news(0)
    await store.count(id, id, 1, LEASE_MS)
    await store.leave(id)
  } finally {
    const names = ['gen', 'until', 'facts', 'newest', 'notes', `n:${id}`, `c:${id}`].map(
      name => `${own}:{m}:${name}`,
    )
    // An error of a script is more useful than an error of this.
    await engine.send(['DEL', ...names]).catch(() => undefined)
  }
}

// ── the other replicas ──

interface Own {
  readonly links: PeerLinks
  readonly ring: KeyRing
  readonly digest: string
}

const checkPeer = async (member: ClusterMember, { links, ring, digest }: Own) => {
  const probed = await links.probe(member)
  const errors = [...keyTrouble(member, ring), linkTrouble(probed)]
    .filter(each => each !== undefined)
    .map(([message, fix]) => ({ level: 'error' as const, subject: member.address, message, fix }))
  const isOther = hasKeysOf(ring, member) && member.digest !== undefined && member.digest !== digest
  const other: ClusterFinding = {
    ...{ level: 'warn', subject: member.address, message: 'its configuration differs from this file' },
    fix: 'use the same configuration for all replicas; during a rolling restart a difference is expected',
  }
  const findings = [...errors, ...(isOther ? [other] : [])]
  return { member, findings, link: probed.status === 200 ? ('up' as const) : ('down' as const) }
}

/** A problem and its fix. */
type Trouble = readonly [message: string, fix: string]

const keyTrouble = ({ keys }: ClusterMember, { names }: KeyRing): readonly Trouble[] => {
  const [first = ''] = names
  const [seal = ''] = keys
  const lacking: Trouble = [
    'it lacks the first key of "cluster.keys" here',
    'append that key to its "cluster.keys" and restart it',
  ]
  const foreign: Trouble = [
    'it seals with a key that is not in "cluster.keys" here',
    'append its first key to "cluster.keys" here',
  ]
  return [...(keys.includes(first) ? [] : [lacking]), ...(names.includes(seal) ? [] : [foreign])]
}

const linkTrouble = ({ status, engine }: Awaited<ReturnType<PeerLinks['probe']>>): Trouble | undefined => {
  switch (status) {
    case 200:
      return engine === 'up'
        ? undefined
        : ['it cannot reach the engine', 'check its "cluster.url" and the network between them']
    case 0:
      return [
        'it cannot be reached from here',
        'open the port of its "cluster.peer.listen", and set "cluster.peer.advertise" to a reachable address',
      ]
    case UNSIGNED:
      return ['it rejects signatures from here', 'give all replicas the same "cluster.keys"']
    case REPLACED:
      return [
        'another process answers at its address',
        'give each replica a unique address in "cluster.peer.advertise"',
      ]
    default:
      return [
        `it answers with HTTP ${status}`,
        'set its "cluster.peer.advertise" to the address of its "cluster.peer.listen"',
      ]
  }
}
