import { dirname, resolve } from 'node:path'
import picomatch from 'picomatch'
import { isSwitchedOff } from '../../config/schema/keys.js'
import type { OwnFile } from '../own-file.js'
import { withEnvFile } from './env-file.js'
import { dependsOnFolder, inFolder } from './folder.js'
import { identityOf, isOwn, settingsOf } from './identity.js'
import { type ImportedEntry, type Normalised, normalise } from './normalise.js'
import { allowsNothing, restricted } from './rules.js'
import { replaceSecrets, SecretNames } from './secrets.js'
import type { Source } from './sources.js'

export type OnConflict = 'rename' | 'skip' | 'replace'

export interface PlanOptions {
  /** Leaves secrets in place. */
  readonly keepsSecrets: boolean
  /** Glob for server names. */
  readonly only: string | undefined
  /** Name for an unnamed server. */
  readonly name: string | undefined
  /** Absolute paths of our own programs. */
  readonly scripts: readonly string[]
  /** Decides about an existing server with other variables. */
  readonly onConflict: (name: string, from: string) => Promise<OnConflict>
  /** Asks for a value that the client would have asked for; undefined if the user cannot be asked. */
  readonly askSecret: (name: string, server: string) => Promise<string | undefined>
  /** Returns whether to move a possible secret; all are moved by default. */
  readonly isSecret?: (value: string) => boolean
}

/** A possible secret, and its variable or option. */
export interface Doubtful {
  readonly name: string
  readonly value: string
}

/** The plan for a server that was found. */
export interface Planned {
  /** Name where it was found. */
  readonly name: string
  readonly from: string
  readonly file: string
  /**
   * `there`: in our file; `restricted`: in our file, and its tool rules become stricter; `same`: equal to one
   * found before; `own`: this proxy; `unnamed`: without a name.
   */
  readonly state:
    | 'new'
    | 'renamed'
    | 'replaced'
    | 'there'
    | 'restricted'
    | 'same'
    | 'own'
    | 'skipped'
    | 'unnamed'
  /** True if its client does not start it. */
  readonly isOff: boolean
  /** Name in our file. */
  readonly as: string | undefined
  /** Entry to write, if any. */
  readonly entry: ImportedEntry | undefined
  /** Variables that its secrets were moved to. */
  readonly secrets: readonly string[]
  /** Possible secrets among the moved values. */
  readonly doubtful: readonly Doubtful[]
  readonly notes: readonly string[]
  /**
   * Reasons why it would behave differently behind the proxy, such as `API_KEY is missing`. A server with any
   * must stay in its client. Empty if none are known.
   */
  readonly obstacles: readonly string[]
}

export interface Plan {
  readonly servers: readonly Planned[]
  /** Values of the variables to add, by name. */
  readonly secrets: ReadonlyMap<string, string>
}

/** A server of our file, or one planned for it. */
interface Known {
  readonly identity: string
  readonly settings: string
  /** Settings without time limits, which users tune in our file. */
  readonly untimed: string
  readonly isNew: boolean
  /** Entry in our file, or to be written. */
  readonly entry: ImportedEntry
  /** True if it was disabled where it was found. */
  readonly isOff: boolean
  /** Index of the planned server that writes it; undefined if it stays unchanged. */
  readonly writer: number | undefined
}

/** Plans the import of all found servers; writes nothing. */
export const planImport = async (
  own: OwnFile,
  sources: readonly Source[],
  options: PlanOptions,
): Promise<Plan> => {
  const planner = new Planner(own, options)
  const isWanted = options.only === undefined ? () => true : picomatch(options.only)
  for (const source of sources) {
    for (const { name, entry, note } of source.found) {
      const named = name === '' ? (options.name ?? '') : name
      if (!isWanted(named)) continue
      const where = { home: own.home, start: source.start }
      const dialect = { ...source.dialect, environment: own.env }
      const normalised = withEnvFile(normalise(entry, dialect), where)
      const notes = note === undefined ? normalised.notes : [note, ...normalised.notes]
      await planner.plan(named, { ...normalised, notes }, source)
    }
  }
  return { servers: planner.servers, secrets: planner.names.added }
}

class Planner {
  readonly servers: Planned[] = []
  readonly names: SecretNames
  readonly #own: OwnFile
  readonly #options: PlanOptions
  readonly #known = new Map<string, Known>()

  constructor(own: OwnFile, options: PlanOptions) {
    this.#own = own
    this.#options = options
    this.names = new SecretNames(own.variables, own.env)
    for (const [name, entry] of own.servers) {
      this.#known.set(name, {
        ...this.#traits(entry),
        entry,
        isNew: false,
        writer: undefined,
      })
    }
  }

  async plan(name: string, normalised: Normalised, source: Source): Promise<void> {
    this.servers.push(await this.#planned(name, normalised, source))
  }

  async #planned(name: string, normalised: Normalised, source: Source): Promise<Planned> {
    const { notes, inputs, obstacles } = normalised
    const from = { name, from: source.label, file: source.file }
    const base: Omit<Planned, 'state'> = {
      ...from,
      isOff: isOff(normalised.entry),
      as: undefined,
      entry: undefined,
      secrets: [],
      doubtful: [],
      notes,
      obstacles,
    }
    if (name === '') return { ...base, state: 'unnamed' }
    if (isOwn(normalised.entry, { scripts: this.#options.scripts, urls: this.#own.urls }))
      return { ...base, state: 'own' }
    const entry =
      source.start === undefined
        ? normalised.entry
        : inFolder(normalised.entry, source.start, this.#own.programFolder)
    const traits = this.#traits(entry)
    const [other, known] = [...this.#known].find(([, each]) => isSame(each, traits)) ?? []
    if (other !== undefined && known !== undefined)
      return this.#merged([other, known], entry, { base, inputs })
    const choice = await this.#choose(name, traits, source)
    if (choice === 'skip') return { ...base, state: 'skipped' }
    const as = choice === 'rename' ? this.#freeName(`${name}-${source.id}`) : name
    const before = choice === 'replace' ? this.#known.get(as)?.entry : undefined
    const written = await this.#written(as, before === undefined ? entry : restricted(entry, before), inputs)
    this.#known.set(as, { ...traits, entry: written.entry, isNew: true, writer: this.servers.length })
    return {
      ...base,
      ...written,
      as,
      state: STATES[choice],
      notes: [...notes, ...written.notes],
      obstacles: [...obstacles, ...this.#missing(inputs)],
    }
  }

  /** Merges a known server: adds the rules of both, and enables it if any client enables it. */
  #merged(
    [as, known]: readonly [string, Known],
    entry: ImportedEntry,
    { base, inputs }: { readonly base: Omit<Planned, 'state'>; readonly inputs: readonly string[] },
  ): Planned {
    const missing = this.#missing(inputs)
    const isEnabled = known.isNew && known.isOff && !isOff(entry)
    const ruled = restricted(known.entry, entry)
    const merged = isEnabled && missing.length === 0 ? without(ruled, 'disabled') : ruled
    const server: Planned = {
      ...base,
      as,
      state: known.isNew ? 'same' : 'there',
      notes: ruled === known.entry ? base.notes : [...base.notes, `its rules apply to ${as} for all clients`],
      obstacles: [...base.obstacles, ...missing, ...this.#lost(known, entry, merged)],
    }
    if (merged === known.entry) return server
    const writer = known.writer ?? this.servers.length
    this.#known.set(as, { ...known, entry: merged, isOff: known.isOff && !isEnabled, writer })
    const written = this.servers[writer]
    if (written === undefined) return { ...server, state: 'restricted', entry: merged }
    this.servers[writer] = { ...written, entry: merged }
    return server
  }

  /** Returns reasons why the client would lose this server to the known one. */
  #lost(known: Known, entry: ImportedEntry, merged: ImportedEntry): readonly string[] {
    const isLost = !known.isNew && known.isOff && !isOff(entry)
    return [
      ...(isLost ? [`it is disabled in ${this.#own.file.state.path}`] : []),
      ...(allowsNothing(merged) && !allowsNothing(entry) ? ['another client allows none of its tools'] : []),
    ]
  }

  /** Returns missing variables as obstacles. */
  #missing(inputs: readonly string[]): readonly string[] {
    return inputs.filter(name => !this.names.valueOf(name)).map(name => `${name} is missing`)
  }

  /** Resolves a name that may be free, taken by another server, or taken by this one with other variables. */
  async #choose(name: string, { identity }: Traits, { label }: Source): Promise<OnConflict | 'add'> {
    const taken = this.#known.get(name)
    if (taken === undefined) return 'add'
    return taken.identity === identity ? await this.#options.onConflict(name, label) : 'rename'
  }

  /** Returns the entry to write: asked values are known or it is disabled, and secrets are moved. */
  async #written(
    server: string,
    entry: ImportedEntry,
    inputs: readonly string[],
  ): Promise<Pick<Planned, 'secrets' | 'doubtful' | 'notes'> & { entry: ImportedEntry }> {
    const missing: string[] = []
    for (const name of inputs) {
      if (this.names.valueOf(name) !== undefined) continue
      const value = await this.#options.askSecret(name, server)
      if (value === undefined || value === '') missing.push(name)
      else this.names.keep(name, value)
    }
    const secrets = new Set<string>()
    const take = (name: string, value: string): string => {
      const variable = this.names.put(server, name, value, entry)
      secrets.add(variable)
      return `\${${variable}}`
    }
    const doubtful: Doubtful[] = []
    const { isSecret = () => true, keepsSecrets } = this.#options
    const isMoved = (name: string, value: string): boolean => {
      if (isSecret(value)) doubtful.push({ name, value })
      return isSecret(value)
    }
    const moved = keepsSecrets ? entry : replaceSecrets(entry, take, isMoved)
    const notes = inputs.map(name =>
      missing.includes(name)
        ? `disabled until ${name} has a value in secrets.env`
        : `the value of ${name}, for which the client asks, is in secrets.env`,
    )
    const written = missing.length > 0 ? { ...moved, disabled: true } : moved
    return { entry: written, secrets: [...secrets], doubtful, notes }
  }

  #traits(entry: ImportedEntry): Traits {
    const resolved = JSON.parse(JSON.stringify(inOwnFile(entry, this.#own)), (_key, value: unknown) =>
      typeof value === 'string' ? this.names.resolve(value) : value,
    ) as ImportedEntry
    return {
      identity: identityOf(resolved),
      settings: settingsOf(resolved, this.#own.home),
      untimed: settingsOf(without(resolved, 'timeouts'), this.#own.home),
      isOff: isOff(entry),
    }
  }

  #freeName(wish: string): string {
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? wish : `${wish}-${count}`
      if (!this.#known.has(name)) return name
    }
  }
}

type Traits = Pick<Known, 'identity' | 'settings' | 'untimed' | 'isOff'>

const STATES = { add: 'new', rename: 'renamed', replace: 'replaced' } as const

const isOff = (entry: ImportedEntry): boolean => isSwitchedOff(key => entry[key])

const without = (entry: ImportedEntry, key: string): ImportedEntry =>
  Object.fromEntries(Object.entries(entry).filter(([name]) => name !== key))

/** Ignores time limits that only our file sets. */
const isSame = (known: Known, found: Traits): boolean =>
  known.identity === found.identity &&
  (known.settings === found.settings ||
    (!known.isNew && found.settings === found.untimed && known.untimed === found.untimed))

/** Returns an entry of our file with its folder, if that matters. */
const inOwnFile = (entry: ImportedEntry, { file, home, programFolder }: OwnFile): ImportedEntry => {
  const { cwd } = entry
  if (typeof cwd === 'string' && /^\.\.?(?:[/\\]|$)|^\w[^:$]*$/.test(cwd))
    return { ...entry, cwd: resolve(dirname(file.state.path), cwd) }
  const isElsewhere = cwd === undefined && programFolder !== home && dependsOnFolder(entry)
  return isElsewhere ? { ...entry, cwd: programFolder } : entry
}
