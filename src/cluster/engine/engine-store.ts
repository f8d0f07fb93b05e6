import { Fault } from '../../kernel/faults.js'
import { newGeneration } from '../sealed-id.js'
import type { Engine } from './engine.js'
import {
  BEAT,
  CHARGE,
  CLAIM,
  COUNT,
  LEAVE,
  LOOK,
  NEWS_CHANNEL,
  NOTE,
  READ,
  RELEASE,
  REMOVE,
  TAKE,
  WRITE,
} from './scripts.js'
import type { Beat, ClusterMember, ClusterStore, MemberFacts, StoredSession } from './store.js'

/** Stores the shared state in Redis or Valkey; all keys begin with `prefix` and share one slot. */
export const createEngineStore = (engine: Engine, prefix: string): ClusterStore => {
  const name = (rest: string): string => `${prefix}:{m}:${rest}`
  const [until, facts, generation] = [name('until'), name('facts'), name('gen')]
  const [newest, notes] = [name('newest'), name('notes')]
  const session = (sid: string): string => name(`s:${sid}`)
  // A full engine, or one that is not a primary any more, answers but cannot be used.
  let isRefusing = false
  return {
    get isUp() {
      return engine.isUp && !isRefusing
    },
    async beat(id, said, leaseMs) {
      const replaced = said.sinceMs === Number.POSITIVE_INFINITY ? said.address : ''
      const args = [id, JSON.stringify(said), String(leaseMs), newGeneration(), replaced]
      try {
        const beat = beatOf(await engine.run(BEAT, [until, facts, generation, newest, notes], args))
        isRefusing = false
        return beat
      } catch (thrown) {
        isRefusing = !(thrown instanceof Fault)
        throw thrown
      }
    },
    async leave(id) {
      await engine.run(LEAVE, [until, facts], [id])
    },
    async write(sid, { owner, epoch, sealed }, ttlMs) {
      const args = [owner, String(epoch), sealed.toString('base64url'), String(ttlMs)]
      return (await engine.run(WRITE, [session(sid)], args)) === 1
    },
    async read(sid) {
      return sessionOf(textsOf(await engine.run(READ, [session(sid)], [])))
    },
    async claim(sid, id, ttlMs) {
      const said = textsOf(await engine.run(CLAIM, [session(sid), until], [id, String(ttlMs)]))
      const [owner] = said
      const claimed = sessionOf(said)
      if (claimed !== undefined) return { is: 'claimed', ...claimed }
      return owner === undefined ? { is: 'none' } : { is: 'alive', owner }
    },
    async remove(sid, owner) {
      await engine.run(REMOVE, [session(sid)], [owner])
    },
    async count(of, id, own, ttlMs) {
      return Number(await engine.run(COUNT, [name(`c:${of}`), until], [id, String(own), String(ttlMs)]))
    },
    async charge(buckets) {
      const keys = buckets.map(({ key }) => name(`r:${key}`))
      const args = buckets.flatMap(({ intervalMs, burst }) => [String(intervalMs), String(burst)])
      return textsOf(await engine.run(CHARGE, keys, args)).map(Number)
    },
    close: () => engine.close(),
    ...notesIn(engine, prefix),
  }
}

const notesIn = (
  engine: Engine,
  prefix: string,
): Pick<ClusterStore, 'take' | 'release' | 'note' | 'noted' | 'news'> => {
  const name = (rest: string): string => `${prefix}:{m}:${rest}`
  const [until, newest, notes] = [name('until'), name('newest'), name('notes')]
  const noteAt = (note: string): string => name(`n:${note}`)
  const lockAt = (lock: string): string => name(`l:${lock}`)
  return {
    async take(lock, id, ttlMs) {
      return (await engine.run(TAKE, [lockAt(lock), until], [id, String(ttlMs)])) === 1
    },
    async release(lock, id) {
      await engine.run(RELEASE, [lockAt(lock)], [id])
    },
    async note(note, sealed, ttlMs) {
      const args = [note, sealed.toString('base64url'), String(ttlMs)]
      await engine.run(NOTE, [noteAt(note), notes, newest], args)
    },
    async noted(note) {
      const said = await engine.send(['GET', noteAt(note)])
      return typeof said === 'string' ? Buffer.from(said, 'base64url') : undefined
    },
    async news(after) {
      const [isCut, ...said] = textsOf(await engine.run(NEWS_CHANNEL, [notes], [String(after)]))
      const names = said.filter((_, at) => at % 2 === 0).flatMap(each => each ?? [])
      return { version: names.length === 0 ? after : Number(said.at(-1)), names, isCut: isCut === '1' }
    },
  }
}

/** Returns the members without joining them. Rejects like `Engine.run`. */
export const readMembers = async (engine: Engine, prefix: string): Promise<readonly ClusterMember[]> =>
  beatOf(await engine.run(LOOK, [`${prefix}:{m}:until`, `${prefix}:{m}:facts`], [])).members

/** Returns the strings of a reply, with undefined for null. */
const textsOf = (said: unknown): readonly (string | undefined)[] => {
  if (!Array.isArray(said)) throw new Fault('unavailable', 'unexpected reply of the cluster engine')
  return said.map((each: unknown) => (typeof each === 'string' ? each : undefined))
}

const sessionOf = ([owner, epoch, sealed]: readonly (string | undefined)[]): StoredSession | undefined =>
  owner === undefined || epoch === undefined || sealed === undefined
    ? undefined
    : { owner, epoch: Number(epoch), sealed: Buffer.from(sealed, 'base64url') }

const beatOf = (said: unknown): Beat => {
  const [wasOver, nowMs, generation = '', news, ...rest] = textsOf(said)
  const members: ClusterMember[] = []
  for (let at = 0; at + 2 < rest.length; at += 3) {
    const member = memberOf(rest[at], rest[at + 1], rest[at + 2])
    if (member !== undefined) members.push(member)
  }
  return { members, wasOver: wasOver === '1', nowMs: Number(nowMs), generation, news: Number(news) }
}

/** Returns undefined for facts of an unknown version. */
const memberOf = (id = '', untilMs = '', text = ''): ClusterMember | undefined => {
  try {
    const { address, state, version, keys, digest, sinceMs } = JSON.parse(text) as Partial<MemberFacts>
    if (address === undefined || state === undefined || version === undefined || !Array.isArray(keys))
      return undefined
    const since = typeof sinceMs === 'number' ? sinceMs : Number.POSITIVE_INFINITY
    return { id, untilMs: Number(untilMs), address, state, version, keys, digest, sinceMs: since }
  } catch {
    return undefined
  }
}
