import { join } from 'node:path'
import { isObject } from '../../kernel/object.js'
import { CLIENTS } from '../clients/clients.js'
import type { Json } from '../edit/change.js'
import type { Disk } from '../files/disk.js'
import { hashOf, readState, replaceFile, textOf } from '../files/revise.js'

const SCOPES = ['user', 'project'] as const
export type Scope = (typeof SCOPES)[number]

/** An entry that somebody else wrote, and that we took out of a client's file. */
export interface Removed {
  readonly name: string
  readonly value: Json
}

/** What was asked for, to write the entry anew. */
export interface Terms {
  readonly via: 'stdio' | 'http'
  readonly url: string
  readonly view: string | undefined
  readonly project: string | undefined
}

/** What was done to one file of a client, so that it can be undone. */
export interface Install extends Terms {
  /** Absolute, behind links. */
  readonly path: string
  /** Hashes of the file; `none` is a file that was not there. */
  readonly before: string
  readonly after: string
  /** A copy of what was there before; undefined if nothing was, or if others have written in between. */
  readonly backup: string | undefined
  /** The name of our entry. */
  readonly key: string
  readonly removed: readonly Removed[]
}

/** An install, and whose it is. */
export interface Owned {
  readonly client: string
  readonly scope: Scope
  readonly install: Install
}

/** The installs of all clients: a file for each client and scope, `installs/CLIENT-SCOPE.json`. */
export class Journals {
  readonly #disk: Disk
  readonly #folder: string

  constructor(disk: Disk, stateFolder: string) {
    this.#disk = disk
    this.#folder = join(stateFolder, 'installs')
  }

  /** All installs of a client; none if its file is broken. Rejects with a SetupError. */
  async read(client: string, scope: Scope): Promise<readonly Install[]> {
    const text = textOf(await readState(this.#disk, this.#file(client, scope)))
    try {
      const value: unknown = JSON.parse(text)
      return isObject(value) && value['version'] === 1 ? (value['installs'] as readonly Install[]) : []
    } catch {
      return []
    }
  }

  /** All installs in one file; two clients may share it. */
  async inFile(path: string): Promise<readonly Owned[]> {
    const all = await this.all()
    return all.filter(({ install }) => install.path === path)
  }

  async all(): Promise<readonly Owned[]> {
    const places = CLIENTS.flatMap(({ id }) => SCOPES.map(scope => ({ client: id, scope })))
    const found = await Promise.all(
      places.map(async place =>
        (await this.read(place.client, place.scope)).map(install => ({ ...place, install })),
      ),
    )
    return found.flat()
  }

  /** Replaces what a client did to a file; undefined forgets it. Rejects with a SetupError. */
  async write(client: string, scope: Scope, path: string, install: Install | undefined): Promise<void> {
    const others = (await this.read(client, scope)).filter(each => each.path !== path)
    const installs = install === undefined ? others : [...others, install]
    const state = await readState(this.#disk, this.#file(client, scope))
    const text = `${JSON.stringify({ version: 1, installs }, null, 2)}\n`
    const bytes = installs.length === 0 ? undefined : Buffer.from(text)
    if (hashOf(state.bytes) !== hashOf(bytes))
      await replaceFile({ disk: this.#disk, backups: undefined }, state, bytes)
  }

  #file(client: string, scope: Scope): string {
    return join(this.#folder, `${client}-${scope}.json`)
  }
}
