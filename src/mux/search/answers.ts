import { annotationOf } from '../../catalog/annotations.js'
import type { Item, Merged } from '../../catalog/listed.js'
import {
  arrayText,
  elementsOf,
  type JsonText,
  memberOf,
  membersOf,
  objectText,
  oneLine,
  rawText,
  stringOf,
  textMember,
} from '../../kernel/json/text.js'
import { cutText, plainLine, plainText } from '../../kernel/secrets/plain-text.js'
import { textBlock } from '../../model/content.js'
import { type Answer, succeeded } from '../../model/outcome.js'

/** Number of found tools that are shown with their schema, if it is short. */
const SCHEMAS = 3
const SCHEMA_BYTES = 1536
/** Maximum size of a described schema. */
const LONG_SCHEMA_BYTES = 64 * 1024
const SENTENCE_BYTES = 300
const DESCRIPTION_BYTES = 16 * 1024
const ARGUMENTS = 20
const ARGUMENT_BYTES = 64
/** Maximum number of servers named in a search result. */
const SERVERS = 20

/** Returns a tool result with this text. */
export const textAnswer = (words: string): Answer =>
  succeeded(objectText([['content', arrayText([textBlock(words)])]]))

/** Returns a failed tool result with a message for a model. */
export const errorAnswer = (words: string): Answer => ({
  kind: 'result',
  result: objectText([
    ['content', arrayText([textBlock(words)])],
    ['isError', rawText('true')],
  ]),
  isError: true,
})

/** Returns whether a tool is annotated as read-only. */
export const onlyReads = ({ text }: Item): boolean =>
  annotationOf(text, 'readOnlyHint')?.toString('latin1') === 'true'

const markOf = (item: Item): string => (onlyReads(item) ? '[read]' : '[write]')

/** Returns the search result as text for a model; the first tools with their schemas. */
export const foundText = (found: readonly Item[], count: number): string => {
  const servers = [...new Set(found.map(({ server }) => server.name))]
  const head = `${found.length} of ${count} tools (${servers.join(', ')})`
  return [head, ...found.map((item, place) => lineOf(item, place < SCHEMAS))].join('\n')
}

const lineOf = (item: Item, withSchema: boolean): string => {
  const { exposed, text } = item
  const schema = memberOf(text, 'inputSchema')
  const said = sentenceOf(textMember(text, 'description') ?? textMember(text, 'title') ?? '')
  const args = schema === undefined ? [] : argumentsOf(schema)
  const line = [
    `${exposed} ${markOf(item)}`,
    ...(said === '' ? [] : [said]),
    args.length === 0 ? 'No arguments.' : `Arguments: ${args.join(', ')}`,
  ].join(' ')
  const isShort = schema !== undefined && args.length > 0 && schema.length <= SCHEMA_BYTES
  return withSchema && isShort ? `${line}\n  schema: ${oneLine(schema).toString()}` : line
}

const sentenceOf = (text: string): string => {
  const line = plainLine(text.slice(0, SENTENCE_BYTES * 4).trim())
  const end = /[.!?](?=\s|$)/.exec(line)
  return cutText(end === null ? line : line.slice(0, end.index + 1), SENTENCE_BYTES)
}

/** Returns the argument names; required ones end with a star. */
const argumentsOf = (schema: JsonText): readonly string[] => {
  const properties = memberOf(schema, 'properties')
  if (properties === undefined) return []
  const required = new Set<string | undefined>()
  for (const name of elementsOf(memberOf(schema, 'required') ?? rawText('[]'))) required.add(stringOf(name))
  const names: string[] = []
  for (const { key } of membersOf(properties)) {
    if (names.length >= ARGUMENTS) return [...names, '…']
    names.push(`${plainLine(cutText(key, ARGUMENT_BYTES))}${required.has(key) ? '*' : ''}`)
  }
  return names
}

/** Returns the text for an empty result, which lists the servers. */
export const nothingText = ({ parts }: Merged): string => {
  const counts = parts.flatMap(({ items }) =>
    items[0] === undefined ? [] : [`${items[0].server.name} ${items.length}`],
  )
  if (counts.length === 0) return 'No tool found: no server has any.'
  const more = counts.length > SERVERS ? ` and ${counts.length - SERVERS} more servers` : ''
  return `No tool found; try other words, or name the product. Tools by server: ${counts.slice(0, SERVERS).join(', ')}${more}`
}

/** Returns the full description of a tool. */
export const describedText = (item: Item): string => {
  const { exposed, text } = item
  const schema = memberOf(text, 'inputSchema') ?? rawText('{}')
  const described = plainText(cutText(textMember(text, 'description') ?? '', DESCRIPTION_BYTES))
  const shown =
    schema.length > LONG_SCHEMA_BYTES ? `too long (${schema.length} bytes)` : oneLine(schema).toString()
  return [`${exposed} ${markOf(item)}`, ...(described === '' ? [] : [described]), `  schema: ${shown}`].join(
    '\n',
  )
}

/** Returns the text for an unknown tool name; `near` are similar names. */
export const unknownText = (name: string, near: readonly string[]): string => {
  const meant = near.length === 0 ? '' : ` Did you mean ${near.join(', ')}?`
  return `Unknown tool: ${plainLine(name.slice(0, 128))}.${meant} Use the exact name of a result of find_tools.`
}
