import { randomBytes } from 'node:crypto'
import type { Clock } from '../kernel/async/clock.js'
import { within } from '../kernel/async/deadline.js'
import { silentLogger } from '../kernel/logger.js'
import type { HttpClient } from '../wire/http.js'
import { Engine } from './engine/engine.js'
import { createEngineStore, readMembers } from './engine/engine-store.js'
import type { Member } from './engine/store.js'
import { type ClusterFinding, type EngineFacts, engineFacts, engineFindings } from './engine/suitability.js'
import { hasKeysOf, KeyRing } from './key-ring.js'
import { REPLACED, UNSIGNED } from './link/forwarding.js'
import { LinkSeal } from './link/link-seal.js'
import { PeerLinks } from './link/peer-links.js'

/** Longer than a connection may take. */
const REACH_MS = 3000
const LEASE_MS = 1000
const ID_BYTES = 8

export interface ClusterReport {
  /** Undefined if it cannot be reached, or tells nothing. */
  readonly engine: EngineFacts | undefined
  readonly members: readonly (Pick<Member, 'id' | 'address' | 'state' | 'version'> & {
    readonly link: 'up' | 'down'
  })[]
  readonly findings: readonly ClusterFinding[]
}

export interface CheckOptions {
  readonly url: string
  readonly prefix: string
  /** 32 bytes in base64 each. */
  readonly keys: readonly string[]
  readonly http: HttpClient
  readonly scheme: 'http' | 'https'
  readonly clock: Clock
  /** Of the configuration at hand. */
  readonly digest: string
  /** The time of day, in milliseconds. */
  readonly wallMs: () => number
}

/** Looks at what replicas need of each other, without being one. Leaves nothing in the engine. */
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
    message: 'replicas talk in plain HTTP, which is signed but can be read',
  },
  mend: 'set "cluster.peer.tls", unless the network between them is private or encrypted',
}

// ── the engine ──

const wrong = (message: string, mend: string): ClusterFinding => ({
  ...{ level: 'error', subject: 'engine', message, mend },
})

const wordsOf = (thrown: unknown): string => {
  const { message = '', code = '' } = thrown as { message?: string; code?: string }
  return message || code || String(thrown)
}

const reached = async (engine: Engine, clock: Clock): Promise<ClusterFinding | undefined> => {
  const opened = engine.opened.then(() => true)
  try {
    if ((await within(opened, { clock, ms: REACH_MS })) === true) return undefined
    return wrong('it does not answer', 'start it, or correct "cluster.url"')
  } catch (thrown) {
    if (/^(?:WRONGPASS|NOAUTH|NOPERM)/.test(wordsOf(thrown))) return refusal(thrown)
    return wrong(`it cannot be reached: ${wordsOf(thrown)}`, 'start it, or correct "cluster.url"')
  }
}

/** What it means that the engine refuses a command. */
const refusal = (thrown: unknown): ClusterFinding => {
  const words = wordsOf(thrown)
  if (/^(?:WRONGPASS|NOAUTH)/.test(words))
    return wrong(`it does not let us in: ${words}`, 'correct user and password in "cluster.url"')
  if (/NOPERM|can't run this command|permission/i.test(words))
    return wrong(`its user may not do what replicas need: ${words}`, 'give it the rights in docs/cluster.md')
  if (/^(?:MOVED|READONLY|CLUSTERDOWN)/.test(words))
    return wrong(`it is no single primary: ${words}`, 'let "cluster.url" name the primary')
  return wrong(`it does not run our scripts: ${words}`, 'use Redis 7.0, Valkey 7.2, or newer')
}

/** Runs each script once, on names of our own, which are in the place of the real ones. */
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
    // A refusal of a script says more than that of this.
    await engine.send(['DEL', ...names]).catch(() => undefined)
  }
}

// ── the other replicas ──

interface Own {
  readonly links: PeerLinks
  readonly ring: KeyRing
  readonly digest: string
}

const checkPeer = async (member: Member, { links, ring, digest }: Own) => {
  const probed = await links.probe(member)
  const errors = [...keyTrouble(member, ring), linkTrouble(probed)]
    .filter(each => each !== undefined)
    .map(([message, mend]) => ({ level: 'error' as const, subject: member.address, message, mend }))
  const isOther = hasKeysOf(ring, member) && member.digest !== undefined && member.digest !== digest
  const other: ClusterFinding = {
    ...{ level: 'warn', subject: member.address, message: 'it has another configuration than this file' },
    mend: 'start all replicas with the same; while they are replaced one by one this is as it should be',
  }
  const findings = [...errors, ...(isOther ? [other] : [])]
  return { member, findings, link: probed.status === 200 ? ('up' as const) : ('down' as const) }
}

/** What is wrong, and what mends it. */
type Trouble = readonly [message: string, mend: string]

const keyTrouble = ({ keys }: Member, { names }: KeyRing): readonly Trouble[] => {
  const [first = ''] = names
  const [seal = ''] = keys
  const lacking: Trouble = [
    'it lacks the first of "cluster.keys" here',
    'add that key there as the last, and start it again',
  ]
  const foreign: Trouble = [
    'it seals with a key that is not in "cluster.keys" here',
    'add its first key here as the last',
  ]
  return [...(keys.includes(first) ? [] : [lacking]), ...(names.includes(seal) ? [] : [foreign])]
}

const linkTrouble = ({ status, engine }: Awaited<ReturnType<PeerLinks['probe']>>): Trouble | undefined => {
  switch (status) {
    case 200:
      return engine === 'up'
        ? undefined
        : ['it does not reach the engine', 'let it reach what its "cluster.url" names']
    case 0:
      return [
        'it cannot be reached from here',
        'open the port of its "cluster.peer.listen", and let "cluster.peer.advertise" be what others reach',
      ]
    case UNSIGNED:
      return ['it refuses what is signed here', 'give all replicas the same "cluster.keys"']
    case REPLACED:
      return [
        'another process answers at its address',
        'give each replica an address of its own in "cluster.peer.advertise"',
      ]
    default:
      return [
        `it answers with HTTP ${status}`,
        'let its "cluster.peer.advertise" be the address of its "cluster.peer.listen"',
      ]
  }
}
