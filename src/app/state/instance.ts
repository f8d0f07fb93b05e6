import { join } from 'node:path'
import { systemClock } from '../../kernel/async/clock.js'
import type { Logger } from '../../kernel/logger.js'
import { type ProcessTable, processTable } from '../../transport/process/process-table.js'
import type { Children } from '../processes/children.js'
import { endOrphans } from '../processes/orphans.js'
import { type InstanceRecord, recordFolder, thisPlace } from './instance-record.js'
import { removePrivate, writePrivate } from './private-file.js'
import { stateDir } from './state-key.js'

/** What is written down beside what we can find out ourselves. */
export interface InstanceFacts {
  readonly verb: string
  readonly url: string | undefined
  readonly config: string | undefined
}

/** What keeping house needs of the proxy. */
export interface Household {
  readonly facts: InstanceFacts
  readonly children: Children
  readonly log: Logger
}

/** Ends what earlier proxies left, and keeps a record of ours until it is closed; both go on by themselves. */
export const settleIn = (household: Household): Instance => {
  const around = { folder: stateDir(process.env), table: processTable(), log: household.log }
  void endOrphans({ ...around, clock: systemClock })
  return new Instance({ ...household, ...around })
}

/** What the record is made of, and where it goes. */
export interface InstanceOptions extends Household {
  /** The state folder. */
  readonly folder: string
  readonly table: ProcessTable
}

/**
 * Our own record, kept up to date while we run and removed when we end in order. A disk that cannot be written to costs the
 * record and nothing else.
 */
export class Instance {
  readonly #options: InstanceOptions
  readonly #file: string
  readonly #startedAt = new Date().toISOString()
  /** When the children began: asked for once, right after their start. */
  readonly #born = new Map<number, string | undefined>()
  #writing: Promise<void> | undefined
  #isDirty = false
  #isClosed = false

  constructor(options: InstanceOptions) {
    const { children, folder } = options
    this.#options = options
    this.#file = join(recordFolder(folder), `${children.mark}.json`)
    children.onChange = () => this.#changed()
    this.#changed()
  }

  /** Resolves when what is known is on the disk. */
  get written(): Promise<void> {
    return this.#writing ?? Promise.resolve()
  }

  /** All children were ended: there is nothing to clean up after us. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#writing
    await removePrivate(this.#file).catch(() => undefined)
  }

  #changed(): void {
    this.#isDirty = true
    if (!this.#isClosed) this.#writing ??= this.#writeAll()
  }

  /** Whatever changes while one is written is in the next. */
  async #writeAll(): Promise<void> {
    try {
      while (this.#isDirty && !this.#isClosed) {
        this.#isDirty = false
        await writePrivate(this.#file, JSON.stringify(await this.#record()))
      }
    } catch (thrown) {
      this.#options.log.debug({ err: thrown }, 'the record of this proxy could not be written')
    }
    this.#writing = undefined
  }

  async #record(): Promise<InstanceRecord> {
    const { children, facts, table } = this.#options
    const { starts } = children
    const writtenAt = new Date().toISOString()
    const pids = [process.pid, ...starts.map(([pid]) => pid)]
    for (const pid of this.#born.keys()) if (!pids.includes(pid)) this.#born.delete(pid)
    const unknown = pids.filter(pid => !this.#born.has(pid))
    if (unknown.length > 0) {
      const births = await table.births(unknown)
      for (const pid of unknown) this.#born.set(pid, births.get(pid))
    }
    return {
      version: 1,
      mark: children.mark,
      place: await thisPlace(),
      pid: process.pid,
      born: this.#born.get(process.pid),
      startedAt: this.#startedAt,
      writtenAt,
      ...facts,
      children: starts.map(([pid, sinceMs]) => ({ pid, sinceMs, born: this.#born.get(pid) })),
    }
  }
}
