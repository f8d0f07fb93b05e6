import picomatch from 'picomatch'
import type { OwnFile } from '../own-file.js'
import { identityOf, isOwn, settingsOf } from './identity.js'
import { type Entry, type Normalised, normalise } from './normalise.js'
import { replaceSecrets, SecretNames } from './secrets.js'
import type { Source } from './sources.js'

export type OnConflict = 'rename' | 'skip' | 'replace'

export interface PlanOptions {
  /** Whether secrets stay where they are. */
  readonly keepsSecrets: boolean
  /** A glob over names. */
  readonly only: string | undefined
  /** Names a server that has none. */
  readonly name: string | undefined
  /** Absolute paths of our own programs. */
  readonly scripts: readonly string[]
  /** Decides about a server that is there with other variables. */
  readonly onConflict: (name: string, from: string) => Promise<OnConflict>
  /** Asks for a value that its client would have asked for; undefined if nobody can be asked. */
  readonly askSecret: (name: string, server: string) => Promise<string | undefined>
}

/** What becomes of a server that was found. */
export interface Planned {
  /** As it is called where it was found. */
  readonly name: string
  readonly from: string
  readonly file: string
  /** `there`: in our file; `same`: as one found before; `own`: this proxy; `unnamed`: without a name. */
  readonly state: 'new' | 'renamed' | 'replaced' | 'there' | 'same' | 'own' | 'skipped' | 'unnamed'
  /** Its name in our file. */
  readonly as: string | undefined
  /** What is written, if anything. */
  readonly entry: Entry | undefined
  /** Variables that its secrets were moved to. */
  readonly secrets: readonly string[]
  readonly notes: readonly string[]
  /**
   * Reasons why it would not run behind the proxy as it does in its client, such as `API_KEY is missing`; a
   * server with any must stay in the client. Empty if nothing is known against it.
   */
  readonly obstacles: readonly string[]
}

export interface Plan {
  readonly servers: readonly Planned[]
  /** Values by the names of the variables that are to be added. */
  readonly secrets: ReadonlyMap<string, string>
}

interface Known {
  readonly identity: string
  readonly settings: string
  readonly isNew: boolean
  readonly isOff: boolean
}

/** Decides what becomes of all servers that were found; writes nothing. */
export const planImport = async (
  own: OwnFile,
  sources: readonly Source[],
  options: PlanOptions,
): Promise<Plan> => {
  const planner = new Planner(own, options)
  const isWanted = options.only === undefined ? () => true : picomatch(options.only)
  const servers: Planned[] = []
  for (const source of sources) {
    for (const { name, entry, note } of source.found) {
      const named = name === '' ? (options.name ?? '') : name
      if (!isWanted(named)) continue
      const normalised = normalise(entry, source.dialect)
      const notes = note === undefined ? normalised.notes : [note, ...normalised.notes]
      servers.push(await planner.plan(named, { ...normalised, notes }, source))
    }
  }
  return { servers, secrets: planner.names.added }
}

class Planner {
  readonly names: SecretNames
  readonly #own: OwnFile
  readonly #options: PlanOptions
  readonly #known = new Map<string, Known>()

  constructor(own: OwnFile, options: PlanOptions) {
    this.#own = own
    this.#options = options
    this.names = new SecretNames(own.variables)
    for (const [name, entry] of own.servers) this.#known.set(name, this.#traits(entry, false))
  }

  async plan(name: string, normalised: Normalised, source: Source): Promise<Planned> {
    const { entry, notes, inputs, obstacles } = normalised
    const base = {
      name,
      from: source.label,
      file: source.file,
      as: undefined,
      entry: undefined,
      secrets: [],
      notes,
      obstacles,
    }
    if (name === '') return { ...base, state: 'unnamed' }
    if (isOwn(entry, { scripts: this.#options.scripts, urls: this.#own.urls }))
      return { ...base, state: 'own' }
    const traits = this.#traits(entry, true)
    const [other, known] = [...this.#known].find(([, each]) => isSame(each, traits)) ?? []
    if (known !== undefined) {
      const state = known.isNew ? 'same' : 'there'
      const lost = known.isOff && !isOff(entry) ? [`it is disabled in ${this.#own.file.state.path}`] : []
      return { ...base, as: other, state, obstacles: [...obstacles, ...this.#missing(inputs), ...lost] }
    }
    const choice = await this.#choose(name, traits, source)
    if (choice === 'skip') return { ...base, state: 'skipped' }
    const as = choice === 'rename' ? this.#freeName(`${name}-${source.id}`) : name
    const folded = source.folder === undefined ? entry : withFolder(entry, source.folder)
    const written = await this.#written(as, folded, inputs)
    this.#known.set(as, traits)
    return {
      ...base,
      ...written,
      as,
      state: STATES[choice],
      notes: [...notes, ...written.notes],
      obstacles: [...obstacles, ...this.#missing(inputs)],
    }
  }

  /** The variables among these that have no value, as obstacles. */
  #missing(inputs: readonly string[]): readonly string[] {
    return inputs.filter(name => !this.names.valueOf(name)).map(name => `${name} is missing`)
  }

  /** A name may be free, or taken by another server, or by this one with other variables. */
  async #choose(name: string, { identity }: Known, { label }: Source): Promise<OnConflict | 'add'> {
    const taken = this.#known.get(name)
    if (taken === undefined) return 'add'
    return taken.identity === identity ? await this.#options.onConflict(name, label) : 'rename'
  }

  /** The entry as it is written: values that are asked for are known or it is disabled, secrets are moved. */
  async #written(
    server: string,
    entry: Entry,
    inputs: readonly string[],
  ): Promise<{ entry: Entry; secrets: readonly string[]; notes: readonly string[] }> {
    const missing: string[] = []
    for (const name of inputs) {
      if (this.names.valueOf(name) !== undefined) continue
      const value = await this.#options.askSecret(name, server)
      if (value === undefined || value === '') missing.push(name)
      else this.names.put(server, name, value)
    }
    const secrets = new Set<string>()
    const take = (name: string, value: string): string => {
      const variable = this.names.put(server, name, value)
      secrets.add(variable)
      return `\${${variable}}`
    }
    const moved = this.#options.keepsSecrets ? entry : replaceSecrets(entry, take)
    const notes = missing.map(name => `disabled until ${name} has a value in secrets.env`)
    return { entry: missing.length > 0 ? { ...moved, disabled: true } : moved, secrets: [...secrets], notes }
  }

  #traits(entry: Entry, isNew: boolean): Known {
    const resolved = JSON.parse(JSON.stringify(entry), (_key, value: unknown) =>
      typeof value === 'string' ? this.names.resolve(value) : value,
    ) as Entry
    return { identity: identityOf(resolved), settings: settingsOf(resolved), isNew, isOff: isOff(entry) }
  }

  #freeName(wish: string): string {
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? wish : `${wish}-${count}`
      if (!this.#known.has(name)) return name
    }
  }
}

const STATES = { add: 'new', rename: 'renamed', replace: 'replaced' } as const

const isOff = (entry: Entry): boolean => entry['disabled'] === true || entry['enabled'] === false

const isSame = (one: Known, other: Known): boolean =>
  one.identity === other.identity && one.settings === other.settings

/** Programs of a project run in its folder. */
const withFolder = (entry: Entry, folder: string): Entry =>
  'command' in entry && !('cwd' in entry) ? { ...entry, cwd: folder } : entry
