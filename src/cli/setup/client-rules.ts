import { join } from 'node:path'
import { toolNamesOf } from '../../app/state/known-tools.js'
import { readPrivate, writePrivate } from '../../app/state/private-file.js'
import { isObject } from '../../kernel/object.js'
import {
  addRules,
  dropRules,
  type LostRules,
  lostRules,
  type MovedServer,
} from '../../setup/clients/tool-rules.js'
import { readUsable } from '../configuration.js'
import { confirm } from '../output/ask.js'
import { oneLine, say, shortPath } from '../output/output.js'
import { wrappedText } from '../output/wrap.js'
import type { ClientMoves } from './client-moves.js'
import { setupFiles, thisMachine } from './setup-files.js'

/** What is asked about the rules of a client before its servers move. */
interface Wish {
  readonly config: string | undefined
  readonly isAsking: boolean
  readonly wrote?: (path: string) => void
}

/**
 * Adds the new names of moved tools to the permission rules of Claude Code, next to the old ones; if the user
 * declines, the servers that rules name stay. Resolves with what moves then. Rejects with a SetupError.
 */
export const keepRules = async <T extends Pick<ClientMoves, 'place' | 'moved' | 'stays'>>(
  moves: T,
  { config, isAsking, wrote }: Wish,
): Promise<T> => {
  const { place, moved } = moves
  if (place.client.id !== 'claude-code' || moved.length === 0) return moves
  const { files, state } = await setupFiles()
  const machine = thisMachine()
  const { config: loaded } = await readUsable(config)
  const servers = moved.flatMap(({ name, as }): readonly MovedServer[] => {
    const server = loaded.servers.find(each => each.name === as)
    return server === undefined ? [] : [{ name, ...toolNamesOf(server, state) }]
  })
  const lost = await lostRules(files, machine, servers)
  if (lost.length === 0) return moves
  sayLost(lost)
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
  await record(state, lost)
  for (const each of lost) {
    await addRules(files, each)
    wrote?.(each.path)
  }
  return moves
}

const sayLost = (lost: readonly LostRules[]): void => {
  say(wrappedText('Permission rules of Claude Code name tools that get new names behind the proxy:'))
  for (const { path, lists } of lost)
    for (const { list, rules, added } of lists) {
      const text = `  ${shortPath(path)}  ${list}: ${rules.join(', ')} → also ${shortList(added)}`
      say(wrappedText(oneLineKept(text), { indent: '    ' }))
    }
}

const oneLineKept = (text: string): string => `  ${oneLine(text)}`

/** Names that are shown of a long list. */
const SHOWN_MAX = 5

const shortList = (names: readonly string[]): string =>
  names.length <= SHOWN_MAX
    ? names.join(', ')
    : `${names.slice(0, SHOWN_MAX).join(', ')} and ${names.length - SHOWN_MAX} more`

const BYTES_MAX = 4 * 1024 * 1024

const fileIn = (state: string): string => join(state, 'claude-rules.json')

/** The rules that were added, so that they can be taken out again. */
export const addedRules = (state: string): readonly LostRules[] => {
  try {
    const value: unknown = JSON.parse(readPrivate(fileIn(state), BYTES_MAX)?.toString() ?? '{}')
    return isObject(value) && value['version'] === 1 ? (value['files'] as readonly LostRules[]) : []
  } catch {
    return []
  }
}

const record = async (state: string, lost: readonly LostRules[]): Promise<void> => {
  const files = [...addedRules(state), ...lost]
  await writePrivate(fileIn(state), `${JSON.stringify({ version: 1, files })}\n`)
}

/** Takes the rules out that were added. Resolves with the changed files. Rejects with a SetupError. */
export const removeAddedRules = async (): Promise<readonly string[]> => {
  const { files, state } = await setupFiles()
  const added = addedRules(state)
  for (const each of added) await dropRules(files, each)
  if (added.length > 0) await writePrivate(fileIn(state), `${JSON.stringify({ version: 1, files: [] })}\n`)
  return [...new Set(added.map(({ path }) => path))]
}
