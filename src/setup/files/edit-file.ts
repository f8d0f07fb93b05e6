import {
  type Editable,
  EditError,
  editable,
  type FileChange,
  type ParseText,
  valueIn,
} from '../edit/change.js'
import { SetupError } from '../setup-error.js'
import { type FileState, type Files, isLarge, readOnce, revisedTextOf } from './revise.js'

/** How a file is written; its parser is loaded when it is needed. */
export type Syntax = 'jsonc' | 'toml' | 'yaml'

export const parserOf = async (syntax: Syntax): Promise<ParseText> => {
  if (syntax === 'toml') return (await import('../edit/toml.js')).parseToml
  if (syntax === 'yaml') return (await import('../edit/yaml.js')).parseYaml
  return (await import('../edit/jsonc.js')).parseJsonc
}

/** A file that was read and parsed. */
export interface OpenFile {
  readonly state: FileState
  readonly value: unknown
  /** The bytes after these changes; equal bytes if they change nothing. Throws a SetupError. */
  readonly edited: (changes: readonly FileChange[]) => Buffer
  /** The same, with the bytes of a large file made only when they are asked for; throws at once. */
  readonly edits: (changes: readonly FileChange[]) => () => Buffer
}

/** Opens a file, also one that is missing. Rejects with a SetupError. */
export const openFile = async (
  { disk }: Pick<Files, 'disk'>,
  file: string,
  syntax: Syntax,
): Promise<OpenFile> => {
  const state = await readOnce(disk, file)
  const { value, edits } = await parsedAs(state, syntax)
  const editsOf = (changes: readonly FileChange[]): (() => Buffer) => {
    const text = located(state.path, () => edits(changes))
    return () => Buffer.from(text())
  }
  return { state, value, edits: editsOf, edited: changes => editsOf(changes)() }
}

/** What large files were parsed to, for as long as they are remembered. */
const parsed = new WeakMap<FileState, Map<Syntax, Editable>>()

/** Parses a file; a large one once for each state that it has. Rejects with a SetupError. */
const parsedAs = async (state: FileState, syntax: Syntax): Promise<Editable> => {
  const known = parsed.get(state) ?? new Map<Syntax, Editable>()
  const found = known.get(syntax)
  if (found !== undefined) return found
  const text = revisedTextOf(state)
  const parse = await parserOf(syntax)
  const made = located(state.path, () => editable(parse, text))
  known.set(syntax, made)
  parsed.set(state, known)
  return made
}

/** Reads the value of a file that is not edited, also one that is missing. Rejects with a SetupError. */
export const readValue = async (
  { disk }: Pick<Files, 'disk'>,
  file: string,
  syntax: Syntax,
): Promise<unknown> => {
  const state = await readOnce(disk, file)
  if (isLarge(state)) return (await parsedAs(state, syntax)).value
  const text = revisedTextOf(state)
  try {
    if (syntax === 'jsonc') return JSON.parse(text) as unknown
  } catch {
    // It has comments or mistakes, whose line the parser below names.
  }
  const parse = await parserOf(syntax)
  return located(state.path, () => valueIn(parse, text))
}

/** Names the file in what an edit throws. */
export const located = <T>(path: string, work: () => T): T => {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof EditError) throw new SetupError(path, thrown.message, thrown.line)
    // The parsers are recursive.
    if (thrown instanceof RangeError) throw new SetupError(path, 'this is nested too deeply')
    throw thrown
  }
}
