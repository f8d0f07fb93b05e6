import { isObject } from '../../kernel/object.js'
import { CLIENTS } from '../../setup/clients/clients.js'
import type { Doubtful, Plan } from '../../setup/import/plan.js'
import type { Source } from '../../setup/import/sources.js'
import { askUser, choose, isInteractive } from '../shared/output/ask.js'
import { oneLineText, printToStderr } from '../shared/output/output.js'
import { wrappedText } from '../shared/output/wrap.js'
import { setupFiles } from '../shared/setup-files.js'

/** Returns the client's descriptions of the values that it asks for (`inputs` of VS Code), by variable. */
export const inputTexts = async (sources: readonly Source[]): Promise<ReadonlyMap<string, string>> => {
  const [{ files }, { readValue }, { variableName }] = await Promise.all([
    setupFiles(),
    import('../../setup/files/edit-file.js'),
    import('../../setup/import/escapes.js'),
  ])
  const texts = new Map<string, string>()
  for (const { id, file } of sources) {
    const client = CLIENTS.find(each => each.id === id)
    if (client === undefined) continue
    const value = await readValue(files, file, client.syntax)
    const inputs: unknown = isObject(value) ? value['inputs'] : undefined
    for (const input of Array.isArray(inputs) ? (inputs as unknown[]) : []) {
      if (!isObject(input) || typeof input['id'] !== 'string') continue
      const { description } = input
      if (typeof description === 'string') texts.set(variableName(input['id']), oneLineText(description))
    }
  }
  return texts
}

/**
 * Asks for a value without echo, as the client would have; undefined without a terminal or an answer. `text`
 * is the client's description of the value.
 */
export const askInput = async (name: string, server: string, text = ''): Promise<string | undefined> => {
  if (!isInteractive()) return undefined
  const what = text === '' ? name : `${name} (${text})`
  printToStderr(
    wrappedText(`${oneLineText(server)} needs ${what}. Typing is hidden; Enter leaves it in its client.`),
  )
  return await askUser(`  ${name}: `, true)
}

/** Shown characters of a possible secret, enough for its owner to recognise it. */
const SHOWN_CHARS = 3

/**
 * Asks which possible secrets to move to `file`; Enter moves all. Resolves with the values that stay. Rejects
 * as `ask` does.
 */
export const askDoubtful = async ({ servers }: Plan, file: string): Promise<ReadonlySet<string>> => {
  const items = servers.flatMap(({ as, name: found, from, doubtful }) =>
    doubtful.map(each => ({ ...each, owner: `${oneLineText(as ?? found)}, ${from}` })),
  )
  if (items.length === 0) return new Set()
  const labelOf = ({ name, value, owner }: Doubtful & { readonly owner: string }): string =>
    `${oneLineText(name)}=${oneLineText(value.slice(0, SHOWN_CHARS))}… (${owner})`
  const question = `These may be secrets. Move them to ${file}?`
  const moved = await choose({ title: 'Values', items, labelOf, question })
  return new Set(items.filter(each => !moved.includes(each)).map(({ value }) => value))
}
