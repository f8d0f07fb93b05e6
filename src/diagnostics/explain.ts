import { type CAUSES, type CauseCode, numberOf, type ProblemId, rowOf } from './causes.js'
import type { Level } from './row.js'

type Rows = typeof CAUSES

type Family<Code extends CauseCode> = Code extends `${infer Base extends CauseCode}.${string}` ? Base : Code

type TextPart = 'says' | 'why' | 'fix' | 'command' | 'label'

/** A text of a code, or of its family. */
type TextOf<Code extends CauseCode, Part extends TextPart> = Code extends CauseCode
  ? Rows[Code] extends Readonly<Record<Part, infer Text extends string>>
    ? Text
    : Rows[Family<Code>] extends Readonly<Record<Part, infer Text extends string>>
      ? Text
      : never
  : never

type Bare<Name extends string> = Name extends `'${infer Inner}'` ? Inner : Name

/** The `{names}` in a text; braces around text with spaces are JSON. */
type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Exclude<Bare<Name>, `${string} ${string}`> | Names<Rest>
  : never

type NamesIn<Code extends CauseCode> = {
  [Part in TextPart]: Names<TextOf<Code, Part>>
}[TextPart]

/** The values that the texts of a cause need, and its reason if the texts have none. */
export type CauseFacts<Code extends CauseCode> = Readonly<Record<NamesIn<Code>, string | number>> & {
  readonly why?: string | undefined
}

/** A cause of a problem, as data. Contains no secrets. */
export interface Cause<Code extends CauseCode = CauseCode> {
  readonly code: Code
  /** A server, client, file or the like; empty if the message suffices. */
  readonly subject: string
  readonly facts: Readonly<Record<string, string | number | undefined>>
}

/** A cause with its texts. */
export interface Explained {
  readonly code: CauseCode
  /** The number of the problem in docs/doctor.md. */
  readonly id: ProblemId | undefined
  readonly level: Level
  readonly subject: string
  /** The problem as one sentence, without a full stop. */
  readonly message: string
  readonly why: string | undefined
  /** A command to paste if possible. Empty if there is nothing to fix. */
  readonly fix: string
  /** The command that fixes or explains it, if the fix is a sentence. */
  readonly command: string | undefined
  /** The cause in a word or two. */
  readonly label: string | undefined
}

/** Creates a cause with the facts that its texts need. */
export const cause = <Code extends CauseCode>(
  code: Code,
  facts: CauseFacts<Code>,
  subject = '',
): Cause<Code> => ({
  code,
  subject,
  facts,
})

/** Returns the message and the fix of a cause. All reports of problems use this function. */
export const explain = ({ code, subject, facts }: Cause): Explained => {
  const { says = '', why, fix = '', level = 'warn', command, label } = rowOf(code)
  const fill = (text: string): string =>
    text.replace(PLACE, (_all, plain: string | undefined, quoted: string) =>
      plain === undefined ? shellWord(String(facts[quoted])) : String(facts[plain]),
    )
  return {
    code,
    id: numberOf(code),
    level,
    subject,
    message: fill(says),
    why: why === undefined ? facts['why']?.toString() : fill(why),
    fix: fill(fix),
    command: command && fill(command),
    label: label && fill(label),
  }
}

const PLACE = /\{(?:(\w+)|'(\w+)')\}/g

/** Quotes a word for a POSIX shell. */
const shellWord = (word: string): string =>
  /^[\w.@:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

/** Formats a cause as one line: `D030: message; fix`. */
export const causeLine = (found: Cause): string => {
  const { id, message, fix } = explain(found)
  return [id === undefined ? message : `${id}: ${message}`, fix].filter(Boolean).join('; ')
}
