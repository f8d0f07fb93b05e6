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
const ARGUMENTS = objectOf(
  String.raw`${membersOf(PROPERTY)}|"type":"object"|"\$schema":${STRING}|"required":${arrayOf(STRING)})`,
)
/** The type stands first or last, as in nearly all of them. */
const IS_OBJECT = String.raw`(?=\{"type":"object"[,}]|.*"type":"object"\}\}$)`

/** As the SDK for TypeScript orders them. */
const BETWEEN = `(?:,"title":(${STRING}))?(?:,"description":${STRING})?`
const HINT = String.raw`"(?:title":${STRING}|(?:readOnly|destructive|idempotent|openWorld)Hint":(?:true|false))`
const BEHIND = String.raw`(?:,"annotations":(${objectOf(HINT)}))?(?:,"execution":(\{"taskSupport":"(?:forbidden|optional|required)"\}))?`

const USUAL_TOOL = new RegExp(
  String.raw`^\{"name":"([ !#-[\]-~]*)"${BETWEEN},"inputSchema":${IS_OBJECT}${ARGUMENTS}${BEHIND}\}$`,
  's',
)

/** Longer ones are worth a walk. */
const SHORT_BYTES = 4096

export interface UsualTool {
  readonly name: string
  /** Whether there is nothing in it that a legacy revision lacks (`projectItem`). */
  readonly isPlain: boolean
  /** All of its text. */
  readonly latin1: string
}

/**
 * Reads a tool that is written as many programs write theirs, with nothing in it to repair (`repairItem`);
 * undefined for all that need a closer look. What V8 itself does is fast from the first tool on: walks over
 * the tools of ten servers take longer than those to answer.
 */
export function usualTool(item: JsonText): UsualTool | undefined {
  if (item.length > SHORT_BYTES) return undefined
  const latin1 = item.toString('latin1')
  const found = USUAL_TOOL.exec(latin1)
  if (found === null) return undefined
  const [, name = '', title, annotations, execution] = found
  return { name, isPlain: (title ?? annotations ?? execution) === undefined, latin1 }
}

const NAME_AT = '{"name":'.length
const SIMPLE = /^[ !#-[\]-~]*$/

/** The text of a usual tool under another name, in latin1. */
export function renamedUsualTool({ name, latin1 }: UsualTool, other: string): string {
  const written = SIMPLE.test(other) ? `"${other}"` : textOf(other).toString('latin1')
  return `{"name":${written}${latin1.slice(NAME_AT + name.length + '""'.length)}`
}
