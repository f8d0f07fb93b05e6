import { randomBytes } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Clock, Timer } from '../../../kernel/async/clock.js'
import type { Principal } from '../../../kernel/caller.js'
import { FairMap } from '../../../kernel/fair-share.js'
import { randomId } from '../../../kernel/ids.js'
import { readPrivate, removePrivate, writePrivate } from '../../../state/private-file.js'

const folderOf = (stateDir: string): string => join(stateDir, 'approvals')

/** The request file of `mcp-proxy auth approve`. */
interface Request {
  readonly code: string
  /** Name of a person; undefined for `local`. */
  readonly as: string | undefined
}

/** The proxy's answer. */
export interface ApprovalAnswer {
  readonly isApproved: boolean
  readonly words: string
}

const FILE_BYTES = 4096
const ASK_MS = 100

const readObject = (file: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(String(readPrivate(file, FILE_BYTES)))
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

/** Normalizes a typed code. */
const normalCode = (code: string): string => code.toUpperCase().replace(/[^A-Z2-7]/g, '')

/**
 * Approves the sign-in with this code at a running proxy of the same user, through a file that no other user
 * can write. Resolves with undefined if no proxy has such a sign-in.
 */
export const approveSignIn = async (
  stateDir: string,
  { code, as }: Request,
  waitMs = 2000,
): Promise<ApprovalAnswer | undefined> => {
  const base = join(folderOf(stateDir), randomId())
  const [request, answer] = [`${base}.request`, `${base}.answer`]
  await writePrivate(request, JSON.stringify({ code: normalCode(code), as, atMs: Date.now() }))
  try {
    for (let left = waitMs; left > 0; left -= ASK_MS) {
      await setTimeout(ASK_MS)
      const said = readObject(answer)
      if (said !== undefined) return { isApproved: said['isApproved'] === true, words: String(said['words']) }
    }
    return undefined
  } finally {
    await Promise.all([removePrivate(request), removePrivate(answer)])
  }
}

const CODE_MS = 5 * 60_000
const POLL_MS = 200
const MOST_WRONG = 5
const MOST_REQUESTS = 100

/** Returns the principal of an approved sign-in, or the reason to refuse. */
type ApproverOf = (as: string | undefined) => { readonly principal: Principal } | { readonly why: string }

/** A sign-in that waits for approval. */
interface Asked {
  /** Description, shown after the approval. */
  readonly what: string
  /** Sign-ins of other owners do not displace this one's. */
  readonly owner: string
  readonly principalOf?: ApproverOf
}

interface Waiting {
  readonly code: string
  readonly untilMs: number
  /** Description, shown to the approving user. */
  readonly what: string
  readonly principalOf: ApproverOf
  wrong: number
  principal: Principal | undefined
}

export interface ApprovalsOptions {
  readonly stateDir: string
  readonly clock: Clock
  /** Maximum number of waiting sign-ins; above it, the oldest of the owner with the most is dropped. */
  readonly most: number
  readonly principalOf: ApproverOf
  /** Called for each unknown code while any sign-in waits. */
  readonly onWrong?: () => void
}

/**
 * Sign-ins that wait for approval from a shell of the same user. Each has a code of 40 random bits, valid for
 * five minutes. A wrong code counts against all of them; the fifth one ends them.
 */
export class Approvals {
  readonly #options: ApprovalsOptions
  readonly #folder: string
  readonly #waiting: FairMap<Waiting>
  readonly #seen = new Set<string>()
  #timer: Timer | undefined
  #isReading = false

  constructor(options: ApprovalsOptions) {
    this.#options = options
    this.#folder = folderOf(options.stateDir)
    this.#waiting = new FairMap(options.most)
  }

  /**
   * Returns the code of a sign-in: a new one if the last has expired, undefined after too many wrong ones.
   */
  codeOf(flow: string, { what, owner, principalOf = this.#options.principalOf }: Asked): string | undefined {
    const now = this.#options.clock.nowMs()
    for (const [id, { untilMs }] of this.#waiting) if (untilMs <= now) this.#waiting.delete(id)
    const known = this.#waiting.get(flow)
    if (known !== undefined) return known.wrong < MOST_WRONG ? known.code : undefined
    const code = base32(randomBytes(5))
    const waiting = { code, untilMs: now + CODE_MS, what, principalOf, wrong: 0, principal: undefined }
    this.#waiting.set(flow, waiting, owner)
    this.#timer ??= this.#options.clock.every(POLL_MS, () => void this.read())
    return code
  }

  /** Returns the approving principal, if any. */
  approved(flow: string): Principal | undefined {
    return this.#waiting.get(flow)?.principal
  }

  forget(flow: string): void {
    this.#waiting.delete(flow)
  }

  close(): void {
    this.#timer?.cancel()
    this.#waiting.clear()
  }

  /** Processes request files, oldest first. Never rejects. @internal */
  async read(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const names = (await readdir(this.#folder).catch(() => [])).filter(name => name.endsWith('.request'))
    const found = names
      .slice(0, MOST_REQUESTS)
      .map(name => ({ name, said: readObject(join(this.#folder, name)) }))
    for (const name of this.#seen) if (!names.includes(name)) this.#seen.delete(name)
    const inOrder = found.sort((one, other) => Number(one.said?.['atMs']) - Number(other.said?.['atMs']))
    for (const { name, said } of inOrder) if (said !== undefined) await this.#take(name, said)
    this.#isReading = false
    this.#rest()
  }

  async #take(name: string, said: Record<string, unknown>): Promise<void> {
    // An unknown code may be for another proxy of this user, so the file stays.
    if (this.#seen.has(name)) return
    this.#seen.add(name)
    const isOld = !(Date.now() - Number(said['atMs']) < CODE_MS)
    if (isOld) {
      await removePrivate(join(this.#folder, name)).catch(() => undefined)
      return
    }
    const answer = this.#judge(String(said['code']), said['as'])
    if (answer === undefined) return
    const file = join(this.#folder, name.replace(/request$/, 'answer'))
    await writePrivate(file, JSON.stringify(answer)).catch(() => undefined)
  }

  #judge(code: string, as: unknown): ApprovalAnswer | undefined {
    const now = this.#options.clock.nowMs()
    const waiting = [...this.#waiting]
      .map(([, each]) => each)
      .filter(each => each.principal === undefined && each.untilMs > now && each.wrong < MOST_WRONG)
    const meant = waiting.find(each => each.code === code)
    if (meant === undefined) {
      for (const each of waiting) each.wrong += 1
      if (waiting.length > 0) this.#options.onWrong?.()
      return undefined
    }
    const who = meant.principalOf(typeof as === 'string' ? as : undefined)
    if ('why' in who) return { isApproved: false, words: who.why }
    meant.principal = who.principal
    return { isApproved: true, words: `${meant.what} may act as ${who.principal}` }
  }

  /** Stops watching while no sign-in waits. */
  #rest(): void {
    const now = this.#options.clock.nowMs()
    const isAwaited = [...this.#waiting].some(
      ([, { untilMs, principal, wrong }]) => untilMs > now && principal === undefined && wrong < MOST_WRONG,
    )
    if (isAwaited) return
    this.#timer?.cancel()
    this.#timer = undefined
  }
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Encodes as base32 (RFC 4648 §6), for lengths without padding. */
const base32 = (bytes: Buffer): string => {
  const bits = [...bytes].map(byte => byte.toString(2).padStart(8, '0')).join('')
  return bits.replace(/.{5}/g, five => ALPHABET.charAt(Number.parseInt(five, 2)))
}
