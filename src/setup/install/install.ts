import { isDeepStrictEqual } from 'node:util'
import { isObject } from '../../kernel/object.js'
import { plainLine } from '../../kernel/secrets/plain-text.js'
import { type ClientProgram, isOfFolder } from '../clients/clients.js'
import type { ClientMachine } from '../clients/machine.js'
import type { FileChange, Json } from '../edit/change.js'
import { type OpenFile, openFile } from '../files/edit-file.js'
import {
  ConflictError,
  type FileState,
  type Files,
  hashOf,
  keepCopy,
  readState,
  replaceFile,
} from '../files/revise.js'
import type { OwnMarks } from '../import/identity.js'
import { withApprovals } from './approvals.js'
import type { AddEntry } from './claude.js'
import { KEY } from './entry.js'
import type { Install, Journals, OwnedInstall, Removed, Scope, Terms } from './journal.js'
import { requireStart } from './required-start.js'
import { isOurs, shownChange } from './shown.js'

/** Target of an entry. */
export interface InstallPlace {
  readonly client: ClientProgram
  readonly scope: Scope
  /** The client's file; it may be missing. */
  readonly file: string
}

export interface InstallContext {
  readonly files: Files
  readonly journals: Journals
  /** Marks of our own entries. */
  readonly own: OwnMarks
  /** Claude Code's program, which adds entries to its file itself; undefined without it. */
  readonly claude?: AddEntry | undefined
  /** The machine whose clients' settings can rule our entry out. */
  readonly machine: ClientMachine
}

/** Planned changes of a client's file, to show and carry out. */
export interface PlannedInstall {
  readonly place: InstallPlace
  /** Path of the file after links. */
  readonly path: string
  /** Net changes; empty if nothing is left to do. */
  readonly changes: readonly FileChange[]
  /** Changes for people, without secrets: `- ` for a removed entry, `+ ` for an added one. */
  readonly lines: readonly string[]
  /** Resolves with whether the file still has the written content. Rejects with a SetupError. */
  readonly isKept: () => Promise<boolean>
  /** Rejects with a SetupError and restores the old file. */
  readonly carryOut: () => Promise<void>
}

/** Returns the servers in a client's file by name, from a map or a list. @internal */
export const entryMembersOf = (value: unknown, at: readonly string[]): ReadonlyMap<string, Json> => {
  const container = at.reduce<unknown>((outer, step) => (isObject(outer) ? outer[step] : undefined), value)
  if (!Array.isArray(container))
    return new Map(Object.entries(isObject(container) ? container : {}) as [string, Json][])
  return new Map(
    container.flatMap(item =>
      isObject(item) && typeof item['name'] === 'string' ? [[item['name'], item as Json]] : [],
    ),
  )
}

/** A plan with the servers that the file had when it was made. */
interface Draft extends PlannedInstall {
  readonly members: ReadonlyMap<string, Json>
}

type Outline = Pick<Draft, 'place' | 'path' | 'changes' | 'members'>

const planned = (
  { files, own }: InstallContext,
  { place, path, changes, members }: Outline,
  carryOut: () => Promise<void>,
): Draft => ({
  place,
  path,
  changes,
  members,
  lines: changes.flatMap(({ at, name, value }) => {
    const line = (sign: string, entry: Json): string =>
      // Control characters in a name could move the cursor and fake another line.
      plainLine(`${sign} ${[...at, name].join('.')} ${shownChange(entry, own)}`)
    const old = members.get(name)
    return [
      ...(old === undefined ? [] : [line('-', old)]),
      ...(value === undefined ? [] : [line('+', value)]),
    ]
  }),
  isKept: async () => {
    const { value } = await openFile(files, path, place.client.syntax)
    const found = entryMembersOf(value, place.client.at)
    return changes.every(({ name, value: wished }) => isDeepStrictEqual(found.get(name), wished))
  },
  carryOut,
})

/** The entry to write, and the entries to remove. */
export interface Wish {
  readonly entry: Readonly<Record<string, Json>>
  readonly terms: Terms
  /** Names of entries to take over. */
  readonly takes: readonly string[]
}

/** Plans to write our entry and remove others. Rejects with a SetupError. */
export const planInstall = async (
  context: InstallContext,
  place: InstallPlace,
  wish: Wish,
): Promise<PlannedInstall> => await retried(async () => await planInstallOnce(context, place, wish))

const ATTEMPTS = 5

/** Plans again if another program, such as a running client, writes the file meanwhile. */
const retried = async (plan: () => Promise<Draft>): Promise<PlannedInstall> => {
  const first = await plan()
  const carryOut = async (): Promise<void> => {
    let current = first
    for (let attempt = 1; ; attempt += 1) {
      try {
        await current.carryOut()
        return
      } catch (thrown) {
        if (!(thrown instanceof ConflictError) || attempt === ATTEMPTS) throw thrown
        current = await plan()
        if (!isWithin(current, first)) throw thrown
      }
    }
  }
  const { place, path, changes, lines, isKept } = first
  return { place, path, changes, lines, isKept, carryOut }
}

/** Returns whether all changes of a plan are in the agreed plan and affect the same values. */
const isWithin = (plan: Draft, agreed: Draft): boolean =>
  plan.changes.every(
    change =>
      agreed.changes.some(each => isDeepStrictEqual(each, change)) &&
      isDeepStrictEqual(plan.members.get(change.name), agreed.members.get(change.name)),
  )

const planInstallOnce = async (context: InstallContext, place: InstallPlace, wish: Wish): Promise<Draft> => {
  const { client, scope, file } = place
  const { journals, own } = context
  const opened = await openFile(context.files, file, client.syntax)
  const { path } = opened.state
  const members = entryMembersOf(opened.value, client.at)
  const current = members.get(KEY)
  const installs = await journals.inFile(path, { client: client.id, scope })
  const { base, hasOwn } = foundOf(installs, place, { state: opened.state, members })
  const isKnown = isOurs(current, own)
  // Another client of this file has already added an entry that serves both.
  const isShared = base !== undefined && !hasOwn && isKnown
  const taken = wish.takes.filter(name => name !== KEY && members.has(name))
  const replaced = [
    current,
    ...taken.map(name => members.get(name)),
    ...(base?.removed ?? []).map(({ value }) => value),
  ]
  const entry = withApprovals(wish.entry, replaced)
  const isThere = isShared || isDeepStrictEqual(current, entry)
  const isForeign = current !== undefined && !isKnown && !hasOwn
  const foreign = isForeign && !isThere ? [KEY] : []
  const removed = [...foreign, ...taken].map(name => ({ name, value: members.get(name) ?? null }))
  const change = { at: client.at, isList: client.isList === true }
  const changes: readonly FileChange[] = [
    ...(isThere ? [] : [{ ...change, name: KEY, value: entry }]),
    ...taken.map(name => ({ ...change, name, value: undefined })),
  ]
  if (taken.length > 0) await requireStart(context, { place, entry, root: opened.value })
  // Rejects an uneditable file before anything is written.
  const bytes = opened.edits(changes)
  const carryOut = async (): Promise<void> => {
    const writing = { changes, removed, terms: wish.terms, bytes }
    const isByProgram = client.id === 'claude-code' && scope === 'user' && current === undefined
    if (isByProgram && installs.length === 0 && (await addByProgram(context, { place, opened }, writing)))
      return
    if (changes.length > 0) await write(context, { place, opened, installs, base }, writing)
    else if (isShared) await journals.write(client.id, scope, path, { ...base, ...wish.terms })
  }
  return planned(context, { place, path, changes, members }, carryOut)
}

interface Installed {
  readonly state: FileState
  readonly members: ReadonlyMap<string, Json>
}

/** Returns our installs that a file still contains, and whether this client's own is among them. */
const foundOf = (
  installs: readonly OwnedInstall[],
  { client, scope }: InstallPlace,
  { state, members }: Installed,
) => {
  const own = installs.find(each => each.client === client.id && each.scope === scope)
  const last = (own ?? installs[0])?.install
  // The file was restored, or never written.
  const isUndone =
    last === undefined ||
    hashOf(state.bytes) === last.before ||
    (!members.has(KEY) && last.removed.every(({ name }) => members.has(name)))
  return isUndone ? { base: undefined, hasOwn: false } : { base: last, hasOwn: own !== undefined }
}

interface Opened {
  readonly place: InstallPlace
  readonly opened: OpenFile
  /** Installs of this client, and of other clients that share the file. */
  readonly installs: readonly OwnedInstall[]
  /** Install that the file still contains; undefined if none. */
  readonly base: Install | undefined
}

interface Writing {
  readonly changes: readonly FileChange[]
  /** Builds the new file content. */
  readonly bytes: () => Buffer
  readonly removed: readonly Removed[]
  readonly terms: Terms
}

/**
 * Adds our entry with Claude Code's program and removes the others. Resolves with false, and an unchanged
 * file, if that fails. Writes the journal first, as `write` does, and updates it with the resulting file.
 */
const addByProgram = async (
  { files, journals, claude }: InstallContext,
  { place: { client, scope }, opened: { state } }: Pick<Opened, 'place' | 'opened'>,
  { changes, removed, terms }: Writing,
): Promise<boolean> => {
  const ours = changes.find(({ name }) => name === KEY)?.value
  if (claude === undefined || !isObject(ours)) return false
  const { path } = state
  const record = async (after: FileState['bytes']): Promise<void> => {
    const install = {
      ...terms,
      path,
      before: hashOf(state.bytes),
      after: hashOf(after),
      backup,
      key: KEY,
      removed,
    }
    await journals.write(client.id, scope, path, install)
  }
  const backup = await keepCopy(files, state)
  await record(state.bytes)
  const isAdded = await claude(KEY, ours)
  const opened = await openFile(files, path, client.syntax)
  if (!isAdded || !entryMembersOf(opened.value, client.at).has(KEY)) {
    await journals.write(client.id, scope, path, undefined)
    return false
  }
  const bytes = opened.edited(changes.filter(({ name }) => name !== KEY))
  await record(bytes)
  if (hashOf(bytes) !== hashOf(opened.state.bytes)) await replaceFile(files, opened.state, bytes)
  return true
}

/**
 * Writes the journals right before the file, so that the change can be undone after a crash in between.
 * Clients that share a file share its records.
 */
const write = async (
  { files, journals }: InstallContext,
  { place, opened: { state }, installs, base }: Opened,
  { removed, terms, bytes: made }: Writing,
): Promise<void> => {
  const { path } = state
  const bytes = made()
  const isOwn = ({ client, scope }: OwnedInstall): boolean =>
    client === place.client.id && scope === place.scope
  const others = installs.filter(each => !isOwn(each))
  const put = async (
    { client, scope }: Pick<OwnedInstall, 'client' | 'scope'>,
    install: Install | undefined,
  ) => await journals.write(client, scope, path, install)
  const own = { client: place.client.id, scope: place.scope }
  const before = hashOf(state.bytes)
  const isUntouched = base?.after === before
  const record = async (copy: string | undefined): Promise<void> => {
    const facts = {
      path,
      before: base?.before ?? before,
      after: hashOf(bytes),
      backup: isUntouched ? base.backup : base === undefined ? copy : undefined,
      key: KEY,
      removed: [...(base?.removed ?? []), ...removed],
    }
    for (const other of others) await put(other, { ...other.install, ...facts })
    await put(own, { ...terms, ...facts })
  }
  try {
    // A backup of our own content would only displace the original's backup.
    await replaceFile(isUntouched ? { ...files, backups: undefined } : files, state, bytes, record)
  } catch (thrown) {
    const old = [{ ...own, install: installs.find(isOwn)?.install }, ...others]
    for (const each of old) await put(each, each.install).catch(() => undefined)
    throw thrown
  }
}

/**
 * Plans to undo an install. Restores the original bytes if the file has not changed since. Otherwise removes
 * our entry and restores removed entries whose names are free. Rejects with a SetupError.
 */
export const planUndo = async (context: InstallContext, place: InstallPlace): Promise<PlannedInstall> =>
  await retried(async () => await planUndoOnce(context, place))

const planUndoOnce = async (context: InstallContext, place: InstallPlace): Promise<Draft> => {
  const { files, journals } = context
  const { client, scope } = place
  const opened = await openFile(files, place.file, client.syntax)
  const { state, value } = opened
  const { path } = state
  const own = { client: client.id, scope }
  const installs = await journals.inFile(path, own)
  const previous = installs.find(each => each.client === own.client && each.scope === scope)?.install
  const isShared = installs.some(each => each.install !== previous)
  const forget = (): Promise<void> => journals.write(client.id, scope, path, undefined)
  const members = entryMembersOf(value, client.at)
  if (previous === undefined || isShared || isLeft(state, previous))
    return planned(context, { place, path, changes: [], members }, forget)
  const change = { at: client.at, isList: client.isList === true }
  const hasOurs = members.has(KEY)
  const back = previous.removed.filter(({ name }) => !members.has(name) || (name === KEY && hasOurs))
  const gone = hasOurs && !back.some(({ name }) => name === KEY)
  const changes: readonly FileChange[] = [
    ...back.map(each => ({ ...change, ...each })),
    ...(gone ? [{ ...change, name: KEY, value: undefined }] : []),
  ]
  const carryOut = async (): Promise<void> => {
    const isOurs = state.bytes === undefined || hashOf(state.bytes) === previous.after
    const old = isOurs ? await oldBytes(files, previous) : undefined
    await replaceFile(files, state, old === undefined ? opened.edited(changes) : old.bytes)
    await forget()
  }
  return planned(context, { place, path, changes, members }, carryOut)
}

/** Returns whether a file needs no undo: it is unchanged, or it is gone and no entry was removed from it. */
const isLeft = ({ bytes }: FileState, { before, removed }: Install): boolean =>
  hashOf(bytes) === before || (bytes === undefined && removed.length === 0)

/**
 * Returns the places where a client's install can be undone: its file or, if nothing was installed there, the
 * files of its journal, as after a change of `CODEX_HOME`. Rejects with a SetupError.
 */
export const placesToUndo = async (
  { journals, files }: Pick<InstallContext, 'journals' | 'files'>,
  { client, scope, file }: Omit<InstallPlace, 'file'> & { readonly file: string | undefined },
): Promise<readonly InstallPlace[]> => {
  const usual = file === undefined ? [] : [{ client, scope, file }]
  // Each project and folder has a separate file.
  if (scope === 'project' || isOfFolder(client)) return usual
  const paths = (await journals.read(client.id, scope)).map(({ path }) => path)
  const here = file === undefined ? undefined : (await readState(files.disk, file)).path
  if (paths.length === 0 || paths.some(path => path === here)) return usual
  return paths.map(path => ({ client, scope, file: path }))
}

/**
 * Returns a file's earlier content: `bytes` are undefined if it was missing. Undefined if the content is
 * unknown.
 */
const oldBytes = async (
  files: Files,
  { before, backup }: Install,
): Promise<{ bytes: Buffer | undefined } | undefined> => {
  if (before === hashOf(undefined)) return { bytes: undefined }
  if (backup === undefined) return undefined
  const { bytes } = await readState(files.disk, backup)
  return hashOf(bytes) === before ? { bytes } : undefined
}
