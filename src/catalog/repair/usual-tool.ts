import { type JsonText, textOf } from '../../kernel/json/text.js'

// Regular expressions over JSON as latin1 text. It was validated when it came, so that they need not tell
// what is JSON; and they hold no two ways to read one text, so that none takes longer than its length.

const KEY = String.raw`"[^"\\]*"`
const STRING = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"`
const SCALAR = String.raw`(?:${STRING}|[-\d][^,}\]]*|true|false|null)`
const objectOf = (member: string): string => String.raw`\{(?:${member}(?:,|(?=\})))*\}`
const arrayOf = (value: string): string => String.raw`\[(?:${value}(?:,|(?=\])))*\]`

const FLAT = objectOf(`${KEY}:(?:${SCALAR}|${arrayOf(SCALAR)})`)

/** Members of a schema, all of whose properties are described by objects; `inner` is what it may hold. */
const membersOf = (inner: string): string => {
  const isOther = String.raw`(?!"(?:type|properties|required|\$schema)":)`
  const value = `(?:${SCALAR}|${arrayOf(`(?:${SCALAR}|${inner})`)}|${inner})`
  return `(?:"properties":${objectOf(`${STRING}:${inner}`)}|${isOther}${KEY}:${value}`
}

const PROPERTY = objectOf(`${membersOf(FLAT)}|"(?:type|required)":(?:${SCALAR}|${arrayOf(SCALAR)}))`)
const HINT = `"(?:title":${STRING}|(?:readOnly|destructive|idempotent|openWorld)Hint":(?:true|false))`
const TASKS = String.raw`\{"taskSupport":"(forbidden|optional|required)"\}`

const sticky = (pattern: string): RegExp => new RegExp(pattern, 'sy')

// The parts of a tool, in the order in which the SDK for TypeScript writes them.
const HEAD = sticky(
  `\\{"name":"([ !#-[\\]-~]*)"(?:,"title":(${STRING}))?(?:,"description":${STRING})?,"inputSchema":`,
)
const SCHEMA = sticky(
  objectOf(
    String.raw`${membersOf(PROPERTY)}|"type":"object"|"\$schema":${STRING}|"required":${arrayOf(STRING)})`,
  ),
)
const OUTPUT = ',"outputSchema":'
const TAIL = sticky(`(?:,"annotations":(${objectOf(HINT)}))?(?:,"execution":${TASKS})?\\}$`)

/** Where nearly all schemas of objects say so. */
const TYPE_FIRST = sticky(String.raw`\{(?:"\$schema":${STRING},)?"type":"object"[,}]`)
const TYPE_LAST = '"type":"object"}'

/** The end of a tool that says in so many words what is true of all that say nothing about tasks. */
const NO_TASKS = ',"execution":{"taskSupport":"forbidden"}}'

/** Longer ones are worth a walk. */
const SHORT_BYTES = 4096

export interface UsualTool {
  readonly name: string
  /** The members that not all revisions know. */
  readonly holds: readonly string[]
  /** All of its text, without the word about tasks if that is what all mean who have none. */
  readonly latin1: string
}

/**
 * Reads a tool that is written as most programs write theirs, with nothing in it to repair (`repairItem`);
 * undefined for all that need a closer look. What V8 itself does is fast from the first tool on: walks over
 * the tools of ten servers take longer than those to answer.
 */
export function usualTool(item: JsonText): UsualTool | undefined {
  if (item.length > SHORT_BYTES) return undefined
  const text = item.toString('latin1')
  const head = find(HEAD, text, 0)
  const inputEnd = head && schemaEnd(text, HEAD.lastIndex)
  if (head === undefined || inputEnd === undefined) return undefined
  const hasOutputSchema = text.startsWith(OUTPUT, inputEnd)
  const end = hasOutputSchema ? schemaEnd(text, inputEnd + OUTPUT.length) : inputEnd
  const tail = end === undefined ? undefined : find(TAIL, text, end)
  if (tail === undefined) return undefined
  const [, name = '', title] = head
  const [, annotations, tasks] = tail
  const saysNothing = tasks === 'forbidden'
  const holds: string[] = []
  note(holds, 'title', title)
  note(holds, 'annotations', annotations)
  note(holds, 'execution', saysNothing ? undefined : tasks)
  if (hasOutputSchema) holds.push('outputSchema')
  return { name, holds, latin1: saysNothing ? `${text.slice(0, -NO_TASKS.length)}}` : text }
}

function note(holds: string[], member: string, value: string | undefined): void {
  if (value !== undefined) holds.push(member)
}

function find(pattern: RegExp, text: string, from: number): RegExpExecArray | undefined {
  pattern.lastIndex = from
  return pattern.exec(text) ?? undefined
}

/** Where a usual schema of an object ends. */
function schemaEnd(text: string, from: number): number | undefined {
  if (find(SCHEMA, text, from) === undefined) return undefined
  const end = SCHEMA.lastIndex
  const saysLast = text.startsWith(TYPE_LAST, end - TYPE_LAST.length)
  return saysLast || find(TYPE_FIRST, text, from) !== undefined ? end : undefined
}

const NAME_AT = '{"name":'.length
const SIMPLE = /^[ !#-[\]-~]*$/

/** The text of a usual tool under another name, in latin1. */
export function renamedUsualTool({ name, latin1 }: UsualTool, other: string): string {
  const written = SIMPLE.test(other) ? `"${other}"` : textOf(other).toString('latin1')
  return `{"name":${written}${latin1.slice(NAME_AT + name.length + '""'.length)}`
}
