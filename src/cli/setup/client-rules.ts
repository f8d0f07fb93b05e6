import { join } from 'node:path'
import type { ProxyConfig } from '../../config/types.js'
import type { DeadRule } from '../../doctor/facts.js'
import { isObject } from '../../kernel/object.js'
import {
  type AddedRules,
  addRules,
  dropRules,
  type LostRules,
  lostRules,
  type MovedServer,
  ruleAgainst,
} from '../../setup/clients/tool-rules.js'
import type { OwnedInstall } from '../../setup/install/journal.js'
import { toolNamesOf } from '../../state/known-tools.js'
import { readPrivate, writePrivate } from '../../state/private-file.js'
import { loadFile, readUsable } from '../shared/configuration.js'
import { confirm } from '../shared/output/ask.js'
import { oneLineText, printToStderr, shortPath } from '../shared/output/output.js'
import { wrappedText } from '../shared/output/wrap.js'
import { setupFiles, setupMachine } from '../shared/setup-files.js'
import { type ClientMoves, type Taken, takenBefore } from './client-moves.js'

/** Options for keeping a client's rules before its servers move. */
interface Wish {
  readonly config: string | undefined
  readonly isAsking: boolean
  readonly wrote?: (path: string) => void
}

/**
 * Adds the moved tools' new names to Claude Code's permission rules, next to the old ones. If the user
 * declines, the servers that rules name stay. Resolves with the remaining moves; rejects with a SetupError.
 */
export const keepRules = async <T extends Pick<ClientMoves, 'place' | 'moved' | 'stays'>>(
  moves: T,
  { config, isAsking, wrote }: Wish,
): Promise<T> => {
  const { place, moved } = moves
  if (place.client.id !== 'claude-code' || moved.length === 0) return moves
  const { files, state } = await setupFiles()
  const machine = setupMachine()
  const { config: loaded } = await readUsable(config)
  const servers = movedServers(moved, loaded, state)
  const lost = await lostRules(files, machine, servers)
  if (lost.length === 0) return moves
  printLostRules(lost)
  if (isAsking && !(await confirm('Add the new names next to the old ones?'))) {
    const named = new Set<string>()
    for (const each of servers) if ((await lostRules(files, machine, [each])).length > 0) named.add(each.name)
    const why = 'its permission rules would match nothing'
    const stays = moved.filter(({ name }) => named.has(name)).map(each => ({ ...each, why }))
    return {
      ...moves,
      moved: moved.filter(({ name }) => !named.has(name)),
      stays: [...moves.stays, ...stays],
    }
  }
  for (const each of lost) {
    await addRules(files, each, async added => await record(state, added))
    wrote?.(each.path)
  }
  return moves
}

const movedServers = (
  taken: readonly Taken[],
  { servers }: ProxyConfig,
  state: string,
): readonly MovedServer[] =>
  taken.flatMap(({ name, as }) => {
    const server = servers.find(each => each.name === as)
    return server === undefined ? [] : [{ name, ...toolNamesOf(server, state) }]
  })

const printLostRules = (lost: readonly LostRules[]): void => {
  printToStderr(
    wrappedText('Permission rules of Claude Code name tools that get new names behind the proxy:'),
  )
  for (const { path, lists } of lost)
    for (const { list, rules, added } of lists) {
      const text = `  ${shortPath(path)}  ${list}: ${rules.join(', ')} → also ${shortList(added)}`
      printToStderr(wrappedText(oneLineKept(text), { indent: '    ' }))
    }
}

const oneLineKept = (text: string): string => `  ${oneLineText(text)}`

/** Maximum names shown of a long list. */
const SHOWN_MAX = 5

const shortList = (names: readonly string[]): string =>
  names.length <= SHOWN_MAX
    ? names.join(', ')
    : `${names.slice(0, SHOWN_MAX).join(', ')} and ${names.length - SHOWN_MAX} more`

const BYTES_MAX = 4 * 1024 * 1024

const fileIn = (state: string): string => join(state, 'claude-rules.json')

/** Returns the rules that were added, one record per file. */
const addedRules = (state: string): readonly AddedRules[] => {
  try {
    const value: unknown = JSON.parse(readPrivate(fileIn(state), BYTES_MAX)?.toString() ?? '{}')
    return isObject(value) && value['version'] === 1 ? (value['files'] as readonly AddedRules[]) : []
  } catch {
    return []
  }
}

const writeAdded = async (state: string, files: readonly AddedRules[]): Promise<void> =>
  await writePrivate(fileIn(state), `${JSON.stringify({ version: 1, files })}\n`)

const record = async (state: string, added: AddedRules): Promise<void> => {
  const all = addedRules(state)
  const old = all.find(({ path }) => path === added.path)
  const others = all.filter(each => each !== old)
  const before = old?.after === added.before ? old.before : added.before
  const backup = old === undefined ? added.backup : old.after === added.before ? old.backup : undefined
  const lists = [...(old?.lists ?? []), ...added.lists]
  await writeAdded(state, [...others, { ...added, lists, before, backup }])
}

/** Returns the files to which rules were added. */
export const filesWithRules = async (): Promise<readonly string[]> =>
  addedRules((await setupFiles()).state).map(({ path }) => path)

/** Removes the rules that were added. Resolves with the changed files; rejects with a SetupError. */
export const removeAddedRules = async (): Promise<readonly string[]> => {
  const { files, state } = await setupFiles()
  const added = addedRules(state)
  for (const each of added) await dropRules(files, each)
  if (added.length > 0) await writeAdded(state, [])
  return added.map(({ path }) => path)
}

/** Returns clients' permission rules for moved servers that no longer match a tool, by client id. */
export const deadRulesOf = async (
  installs: readonly OwnedInstall[],
  context: Parameters<typeof takenBefore>[1],
): Promise<ReadonlyMap<string, readonly DeadRule[]>> => {
  const { files, state } = await setupFiles()
  const machine = setupMachine()
  const { config } = await loadFile(context.ownFile.file.state.path)
  const takenBy = await takenBefore(installs, context)
  const found = new Map<string, readonly DeadRule[]>()
  for (const install of installs) {
    const taken = takenBy(install)
    const against = await ruleAgainst(files, machine, install.client)
    const others = taken.flatMap(({ name }): DeadRule[] => {
      const rule = against(name)
      return rule === undefined ? [] : [{ file: rule.path, rule: rule.rule, names: undefined }]
    })
    const moved = config === undefined ? [] : movedServers(taken, config, state)
    const lost = install.client === 'claude-code' ? await lostRules(files, machine, moved) : []
    const named = lost.flatMap(({ path: file, lists }) =>
      lists.flatMap(({ rules, added }) => rules.map(rule => ({ file, rule, names: added }))),
    )
    found.set(install.client, [...(found.get(install.client) ?? []), ...named, ...others])
  }
  return found
}
