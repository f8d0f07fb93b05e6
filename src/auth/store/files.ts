import { createHash } from 'node:crypto'
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ProxyConfig } from '../../config/types.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { isObject } from '../../kernel/object.js'
import { findFile, writeDraftSync } from '../../state/private-file.js'
import type { CredentialPlace, CredentialRecord, CredentialStore } from '../client/record.js'
import { secureFolder } from './folder.js'
import { keychainKey } from './keychain.js'
import { withLock } from './lock.js'
import { openText, sealText, storeKey } from './seal.js'
import type { OwnLogins, SharedLogins } from './shared-logins.js'

const MAX_BYTES = 1024 * 1024
const FILE = /^[\da-f]{16}-[\da-f]{32}\.json$/
/** Suffix of a new version before it replaces the file; complete, unless the process was killed. */
const DRAFT = '.new'

export const credentialFolder = (stateDir: string): string => join(stateDir, 'credentials')

/** Time of the last change of a credential, in milliseconds since 1970; 0 before the first one. */
export const lastLoginMs = (stateDir: string): number =>
  statSync(credentialFolder(stateDir), { throwIfNoEntry: false })?.mtimeMs ?? 0

interface CredentialFilesOptions {
  readonly folder: string
  readonly log: Logger
  /** Encrypts the secrets; undefined to rely on file permissions. */
  readonly key: Buffer | undefined
}

/** Opens the store of a configuration. Rejects with a Fault if its key or its folder cannot be used. */
export const openCredentials = async (
  stateDir: string,
  { kind, log }: { readonly kind: ProxyConfig['credentialStore']; readonly log: Logger },
): Promise<CredentialFiles> => {
  const key = storeKey(process.env) ?? (kind === 'keychain' ? await keychainKey() : undefined)
  const folder = credentialFolder(stateDir)
  secureFolder(folder, log)
  return new CredentialFiles({ folder, key, log })
}

/**
 * Stores each credential in a private file, named by a hash of server and owner. Writes are atomic: after a
 * crash, a record has either its old or its new version.
 */
export class CredentialFiles implements CredentialStore, OwnLogins {
  readonly #folder: string
  readonly #log: Logger
  readonly #key: Buffer | undefined
  #shared: Pick<SharedLogins, 'kept' | 'renewing'> | undefined

  constructor({ folder, key, log }: CredentialFilesOptions) {
    this.#folder = folder
    this.#log = log
    this.#key = key
  }

  find(place: CredentialPlace): CredentialRecord | undefined {
    return this.#at(place)
      .sort((one, other) => (other.savedMs ?? 0) - (one.savedMs ?? 0))
      .at(0)
  }

  /** Returns all records, for people. */
  all(): readonly CredentialRecord[] {
    return this.#all(() => true)
  }

  read(record: CredentialRecord): CredentialRecord | undefined {
    return this.#readFile(nameOf(record))
  }

  save(record: CredentialRecord): void {
    const saved = { ...record, savedMs: Date.now() }
    this.take(saved)
    this.#shared?.kept(saved)
  }

  /** Shares later changes with other replicas. */
  share(shared: Pick<SharedLogins, 'kept' | 'renewing'>): void {
    this.#shared = shared
  }

  take(record: CredentialRecord): void {
    const name = nameOf(record)
    const file = join(this.#folder, name)
    const { tokens, client, dpopKey, ...open } = record
    const secrets = { tokens, client, dpopKey }
    const sealed = this.#key && { sealed: sealText(JSON.stringify(secrets), this.#key, name) }
    const bytes = JSON.stringify({ ...open, ...(sealed ?? secrets) }, null, 2)
    try {
      writeDraftSync(`${file}${DRAFT}`, `${bytes}\n`)
      takePlace(`${file}${DRAFT}`, file)
    } catch (thrown) {
      throw new Fault('unavailable', `a login cannot be kept in ${this.#folder}`, { cause: thrown })
    }
  }

  /** Stores a login, then removes all others of the same server and owner. */
  replace(record: CredentialRecord): void {
    this.save(record)
    const own = nameOf(record)
    for (const other of this.#at(record)) if (nameOf(other) !== own) this.remove(other)
  }

  renewing<T>(record: CredentialRecord, work: () => Promise<T>): Promise<T> {
    const locked = (): Promise<T> => this.locked(record, work)
    return this.#shared?.renewing(record, locked) ?? locked()
  }

  remove(record: CredentialRecord): void {
    const file = join(this.#folder, nameOf(record))
    rmSync(`${file}${DRAFT}`, { force: true })
    rmSync(file, { force: true })
  }

  locked<T>(record: CredentialRecord, work: () => T | Promise<T>): Promise<T> {
    return withLock(join(this.#folder, `${nameOf(record)}.lock`), work)
  }

  nameOf(record: CredentialRecord): string {
    return nameOf(record)
  }

  #at(place: CredentialPlace): CredentialRecord[] {
    return this.#all(name => isFileOf(name, place)).filter(
      ({ url, owner }) => url === place.url && owner === place.owner,
    )
  }

  #all(isWanted: (name: string) => boolean): CredentialRecord[] {
    let names: readonly string[] = []
    try {
      names = readdirSync(this.#folder)
    } catch (thrown) {
      if (systemCode(thrown) !== 'ENOENT') throw thrown
    }
    const files = new Set(names.map(name => (name.endsWith(DRAFT) ? name.slice(0, -DRAFT.length) : name)))
    return [...files]
      .filter(name => FILE.test(name) && isWanted(name))
      .flatMap(name => this.#readFile(name) ?? [])
  }

  #readFile(name: string): CredentialRecord | undefined {
    const file = join(this.#folder, name)
    const draft = this.#parse(name, `${file}${DRAFT}`)
    if (draft !== undefined) takePlace(`${file}${DRAFT}`, file)
    return draft ?? this.#parse(name, file)
  }

  #parse(name: string, file: string): CredentialRecord | undefined {
    const found = findFile(file, MAX_BYTES)
    if (found?.isSecret === false) {
      this.#log.warn({ file }, 'this login is not used: other users could read it, or it is not ours')
      return undefined
    }
    const value = jsonIn(found?.bytes?.toString() ?? '')
    if (value?.['version'] !== 1) return undefined
    const { sealed, ...open } = value
    if (typeof sealed !== 'string') return value as unknown as CredentialRecord
    const text = this.#key && openText(sealed, this.#key, name)
    const secrets = text === undefined ? undefined : jsonIn(text)
    if (secrets !== undefined) return { ...open, ...secrets } as unknown as CredentialRecord
    this.#log.warn({ file }, 'this login is not used: MCP_PROXY_STORE_KEY is not the key it was sealed with')
    return undefined
  }
}

const takePlace = (draft: string, file: string): void => {
  try {
    renameSync(draft, file)
  } catch (thrown) {
    // Another process has already removed it.
    if (systemCode(thrown) !== 'ENOENT') throw thrown
  }
}

const hash = (...parts: readonly (string | undefined)[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex')

const placeHash = ({ url, owner }: CredentialPlace): string => hash(url, owner).slice(0, 16)

/** Reports whether a file name belongs to a login of this server and owner. */
export const isFileOf = (name: string, place: CredentialPlace): boolean =>
  FILE.test(name) && name.startsWith(placeHash(place))

const nameOf = (record: CredentialRecord): string => {
  const { discovery, owner, redirect } = record
  const key = hash(discovery.server.issuer, discovery.resource, owner, redirect).slice(0, 32)
  return `${placeHash(record)}-${key}.json`
}

const jsonIn = (text: string): Readonly<Record<string, unknown>> | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
