import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import { readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { Known, Said } from '../../catalog/lists/remembered.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  kindOf,
  memberOf,
  objectText,
  readJson,
  stringOf,
  textMember,
  textOf,
  valueOf,
} from '../../kernel/json/text.js'
import { LIST_NAMES, type ListName } from '../../model/listing.js'
import type { ServerCapabilities, ServerFacts } from '../../model/peer.js'
import { isRevision } from '../../model/revision.js'
import { isPrivate, writePrivate } from './private-file.js'

/** What a file must say that it is; anything else was written by another version of this program, and is of no use. */
const FORMAT = 3
/** What is known of one server may take so much; of a server that lists more nothing is kept. */
export const KNOWN_BYTES = 8 * 1024 * 1024
/** So many servers are known; those that were met longest ago are forgotten. */
const FILES_MAX = 500

/** What is known of a server as it stands in a file: what the server sent is in it byte for byte, once for all who were sent it. */
export const encodeKnown = (known: Known): JsonText => {
  const profiles = new Map<string, string[]>()
  for (const [profile, said] of known) {
    const text = encodeSaid(said).toString('latin1')
    profiles.set(text, [...(profiles.get(text) ?? []), profile])
  }
  const said = [...profiles].map(([text, all]) =>
    objectText([
      ['profiles', textOf(all)],
      ['said', Buffer.from(text, 'latin1') as JsonText],
    ]),
  )
  return objectText([
    ['format', textOf(FORMAT)],
    ['known', arrayText(said)],
  ])
}

const encodeSaid = ({ facts, lists }: Said): JsonText => {
  const { revision, capabilities, announced, info, instructions } = facts
  const known = LIST_NAMES.flatMap(list => {
    const items = lists[list]
    return items === undefined ? [] : [[list, arrayText(items)] as const]
  })
  return objectText([
    ['revision', textOf(revision)],
    ['capabilities', textOf(capabilities)],
    ['announced', announced],
    ['info', info],
    ...(instructions === undefined ? [] : [['instructions', textOf(instructions)] as const]),
    ['lists', objectText(known)],
  ])
}

/** What stands in a file; undefined for anything that is not exactly what we write. */
export const decodeKnown = (bytes: Buffer): Known | undefined => {
  try {
    const text = readJson(bytes)
    if (kindOf(text) !== 'object' || memberOf(text, 'format')?.toString() !== String(FORMAT)) return undefined
    const known = new Map<string, Said>()
    for (const entry of elementsOf(memberOf(text, 'known') ?? text)) {
      const said = decodeSaid(memberOf(entry, 'said'))
      if (said === undefined) return undefined
      for (const profile of elementsOf(memberOf(entry, 'profiles') ?? entry))
        known.set(stringOf(profile) ?? '', said)
    }
    return known.size === 0 ? undefined : known
  } catch {
    return undefined
  }
}

const decodeSaid = (text: JsonText | undefined): Said | undefined => {
  const facts = text && decodeFacts(text)
  const lists = text && memberOf(text, 'lists')
  if (facts === undefined || lists === undefined || kindOf(lists) !== 'object') return undefined
  return { facts, lists: decodeLists(lists) }
}

const decodeFacts = (text: JsonText): ServerFacts | undefined => {
  const revision = textMember(text, 'revision')
  const capabilities = memberOf(text, 'capabilities')
  const [announced, info] = [memberOf(text, 'announced'), memberOf(text, 'info')]
  if (revision === undefined || !isRevision(revision) || capabilities === undefined) return undefined
  if (announced === undefined || info === undefined) return undefined
  return {
    revision,
    announced,
    capabilities: decodeCapabilities(valueOf(capabilities)),
    info,
    instructions: textMember(text, 'instructions'),
  }
}

const decodeLists = (text: JsonText): Said['lists'] => {
  const lists: Partial<Record<ListName, readonly JsonText[]>> = {}
  for (const list of LIST_NAMES) {
    const items = memberOf(text, list)
    if (items !== undefined && kindOf(items) === 'array') lists[list] = [...elementsOf(items)]
  }
  return lists
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

const decodeCapabilities = (value: unknown): ServerCapabilities => {
  const all = isObject(value) ? value : {}
  const listing = (name: string) => {
    const one = all[name]
    return isObject(one)
      ? { listChanged: one['listChanged'] === true, subscribe: one['subscribe'] === true }
      : undefined
  }
  const [tools, prompts] = [listing('tools'), listing('prompts')]
  return {
    tools: tools && { listChanged: tools.listChanged },
    prompts: prompts && { listChanged: prompts.listChanged },
    resources: listing('resources'),
    completions: all['completions'] === 'undeclared' ? 'undeclared' : all['completions'] === true,
    logging: all['logging'] === true,
    tasks: all['tasks'] === true,
  }
}

/** Neither through a link nor waiting for whoever writes a pipe; what Windows does not have counts for nothing here. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** The folder of what is known. */
export const knownFolder = (stateDir: string): string => join(stateDir, 'known')

/** What stands in a file that only its user can write to, in a folder of the same kind; undefined for any other. */
export const readKnown = (folder: string, print: string): Buffer | undefined => {
  let file: number | undefined
  try {
    if (!isPrivate(lstatSync(folder))) return undefined
    file = openSync(join(folder, `${print}.json`), READ)
    const found = fstatSync(file)
    if (!found.isFile() || !isPrivate(found) || found.size > KNOWN_BYTES) return undefined
    const bytes = Buffer.allocUnsafe(found.size)
    return readSync(file, bytes, 0, found.size, 0) === found.size ? bytes : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

/** Keeps what is known of a server. Rejects with what the file system throws. */
export const writeKnown = async (folder: string, print: string, bytes: Buffer): Promise<void> => {
  await writePrivate(join(folder, `${print}.json`), bytes)
  await forgetOldest(folder)
}

/** A server was met again as it is known. Rejects with what the file system throws. */
export const touchKnown = async (folder: string, print: string): Promise<void> => {
  const now = new Date()
  await utimes(join(folder, `${print}.json`), now, now)
}

/** Also drafts of proxies that were killed while they wrote: they grow old and go. */
const forgetOldest = async (folder: string): Promise<void> => {
  const names = await readdir(folder)
  if (names.length <= FILES_MAX) return
  const files = await Promise.all(
    names.map(async name => ({
      name,
      atMs: (await stat(join(folder, name)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  )
  const oldest = files.sort((one, other) => one.atMs - other.atMs).slice(0, names.length - FILES_MAX)
  await Promise.all(oldest.map(({ name }) => rm(join(folder, name), { force: true })))
}
