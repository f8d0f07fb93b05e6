import { lstatSync } from 'node:fs'
import { readdir, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import type { CachedServer, ServerSnapshot } from '../catalog/lists/profile-cache.js'
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
} from '../kernel/json/text.js'
import { isObject } from '../kernel/object.js'
import { skillsIn } from '../model/extensions.js'
import { LIST_NAMES, type ListName } from '../model/listing.js'
import type { ServerCapabilities, ServerFacts } from '../model/peer.js'
import { isRevision } from '../model/revision.js'
import { isPrivate, readPrivate, writePrivate } from './private-file.js'

/** Format version. Files of other versions are ignored. */
const FORMAT = 3
/** Maximum size of a file. Larger servers are not cached. */
export const CACHE_FILE_BYTES = 8 * 1024 * 1024
/** Maximum files; the most recently reached servers are kept. */
const FILES_MAX = 500

/** Encodes a server's cached lists byte for byte, storing identical lists of several profiles once. */
export const encodeServer = (known: CachedServer): JsonText => {
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

const encodeSaid = ({ facts, lists }: ServerSnapshot): JsonText => {
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

export const decodeServer = (bytes: Buffer): CachedServer | undefined => {
  try {
    const text = readJson(bytes)
    if (kindOf(text) !== 'object' || memberOf(text, 'format')?.toString() !== String(FORMAT)) return undefined
    const known = new Map<string, ServerSnapshot>()
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

const decodeSaid = (text: JsonText | undefined): ServerSnapshot | undefined => {
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
  const skills = skillsIn(announced)
  return {
    revision,
    announced,
    capabilities: { ...decodeCapabilities(valueOf(capabilities)), ...(skills && { skills }) },
    info,
    instructions: textMember(text, 'instructions'),
  }
}

const decodeLists = (text: JsonText): ServerSnapshot['lists'] => {
  const lists: Partial<Record<ListName, readonly JsonText[]>> = {}
  for (const list of LIST_NAMES) {
    const items = memberOf(text, list)
    if (items !== undefined && kindOf(items) === 'array') lists[list] = [...elementsOf(items)]
  }
  return lists
}

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

export const cacheFolder = (stateDir: string): string => join(stateDir, 'known')

export const cacheFile = (folder: string, print: string): string => join(folder, `${print}.json`)

/** Reads a server's file if only this user can have written it. Never throws. */
export const readCacheFile = (folder: string, print: string): Buffer | undefined => {
  try {
    return isPrivate(lstatSync(folder)) ? readPrivate(cacheFile(folder, print), CACHE_FILE_BYTES) : undefined
  } catch {
    return undefined
  }
}

export const writeCacheFile = async (folder: string, print: string, bytes: Buffer): Promise<void> => {
  await writePrivate(cacheFile(folder, print), bytes)
  await forgetOldest(folder)
}

export const touchCacheFile = async (folder: string, print: string): Promise<void> => {
  const now = new Date()
  await utimes(cacheFile(folder, print), now, now)
}

/** Also removes the drafts of proxies that were killed during a write. */
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
