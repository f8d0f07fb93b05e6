import {
  type Editable,
  EditError,
  editable,
  type FileChange,
  type ParseText,
  TooLongError,
  valueIn,
} from '../edit/change.js'
import { SetupError } from '../setup-error.js'
import { type FileState, type Files, isLarge, readOnce, revisedTextOf } from './revise.js'

/** A file's syntax; its parser is loaded on demand. */
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
  /** Returns the bytes with these changes; identical bytes if nothing changes. Throws a SetupError. */
  readonly edited: (changes: readonly FileChange[]) => Buffer
  /** Checks changes at once and builds a large file's bytes on demand. Throws a SetupError. */
  readonly edits: (changes: readonly FileChange[]) => () => Buffer
}

/** Opens a file, which may be missing. Rejects with a SetupError. */
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

/** Parsed large files, by remembered state. */
const parsed = new WeakMap<FileState, Map<Syntax, Editable>>()

/** Parses a file; a large one only once per state. Rejects with a SetupError. */
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

/** Reads a file's value without editing it; the file may be missing. Rejects with a SetupError. */
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
    // Has comments or syntax errors; the parser below reports the line.
  }
  const parse = await parserOf(syntax)
  return located(state.path, () => valueIn(parse, text))
}

/** Adds the file to errors of an edit. */
export const located = <T>(path: string, work: () => T): T => {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof TooLongError)
      throw new SetupError(path, thrown.message, 0, `remove unused data from ${path}, and run this again`)
    if (thrown instanceof EditError) throw new SetupError(path, thrown.message, thrown.line)
    // The parsers are recursive.
    if (thrown instanceof RangeError) throw new SetupError(path, 'this is nested too deeply')
    throw thrown
  }
}
