import { join } from 'node:path'
import { isObject } from '../../kernel/object.js'
import { CLIENTS } from '../clients/clients.js'
import type { Json } from '../edit/change.js'
import type { Disk } from '../files/disk.js'
import { exclusively, hashOf, readState, replaceFile, revisedTextOf } from '../files/revise.js'
import { SetupError } from '../setup-error.js'

const SCOPES = ['user', 'project'] as const
export type Scope = (typeof SCOPES)[number]

/** Another program's entry that we removed from a client's file. */
export interface Removed {
  readonly name: string
  readonly value: Json
}

/** Parameters to write the entry again. */
export interface Terms {
  readonly via: 'stdio' | 'http'
  readonly url: string
  readonly view: string | undefined
  readonly project: string | undefined
}

/** A reversible change of one client file. */
export interface Install extends Terms {
  /** Absolute path after links. */
  readonly path: string
  /** Hashes of the file; `none` for a missing file. */
  readonly before: string
  readonly after: string
  /**
   * Backup of the earlier file; undefined if it was missing, or if another program has written it in between.
   */
  readonly backup: string | undefined
  /** Name of our entry. */
  readonly key: string
  readonly removed: readonly Removed[]
}

/** An install with its client and scope. */
export interface OwnedInstall {
  readonly client: string
  readonly scope: Scope
  readonly install: Install
}

/** The installs of all clients, in `installs/CLIENT-SCOPE.json` per client and scope. */
export class Journals {
  readonly #disk: Disk
  readonly #folder: string

  constructor(disk: Disk, stateFolder: string) {
    this.#disk = disk
    this.#folder = join(stateFolder, 'installs')
  }

  /** Reads all installs of a client. Rejects with a SetupError, also for an invalid journal. */
  async read(client: string, scope: Scope): Promise<readonly Install[]> {
    const state = await readState(this.#disk, this.#file(client, scope))
    if (state.bytes === undefined) return []
    const installs = installsIn(revisedTextOf(state))
    if (installs !== undefined) return installs
    const fix = `restore it from a backup, or start afresh: mv ${state.path} ${state.path}.old`
    throw new SetupError(state.path, 'this is not a journal of installs', 0, fix)
  }

  /**
   * Returns all installs in one file, which two clients may share. Rejects with a SetupError if the journal
   * of `own` cannot be read.
   */
  async inFile(path: string, own: Pick<OwnedInstall, 'client' | 'scope'>): Promise<readonly OwnedInstall[]> {
    await this.read(own.client, own.scope)
    const all = await this.all()
    return all.filter(({ install }) => install.path === path)
  }

  /** Returns the installs of all readable journals. */
  async all(): Promise<readonly OwnedInstall[]> {
    const places = CLIENTS.flatMap(({ id }) => SCOPES.map(scope => ({ client: id, scope })))
    const found = await Promise.all(
      places.map(async place =>
        (await this.read(place.client, place.scope).catch(none)).map(install => ({ ...place, install })),
      ),
    )
    return found.flat()
  }

  /** Replaces a client's record for a file; undefined removes it. Rejects with a SetupError. */
  async write(client: string, scope: Scope, path: string, install: Install | undefined): Promise<void> {
    const { path: file, bytes } = await readState(this.#disk, this.#file(client, scope))
    if (bytes === undefined && install === undefined) return
    await exclusively(this.#disk, file, async () => {
      const others = (await this.read(client, scope)).filter(each => each.path !== path)
      const installs = install === undefined ? others : [...others, install]
      const state = await readState(this.#disk, file)
      const text = `${JSON.stringify({ version: 1, installs }, null, 2)}\n`
      const next = installs.length === 0 ? undefined : Buffer.from(text)
      if (hashOf(state.bytes) !== hashOf(next))
        await replaceFile({ disk: this.#disk, backups: undefined }, state, next)
    })
  }

  #file(client: string, scope: Scope): string {
    return join(this.#folder, `${client}-${scope}.json`)
  }
}

const installsIn = (text: string): readonly Install[] | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    if (!isObject(value) || value['version'] !== 1 || !Array.isArray(value['installs'])) return undefined
    return value['installs'] as readonly Install[]
  } catch {
    return undefined
  }
}

const none = (thrown: unknown): readonly Install[] => {
  if (thrown instanceof SetupError) return []
  throw thrown
}
