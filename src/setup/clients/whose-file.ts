import { isObject } from '../../kernel/object.js'
import { type ClientFormat, FORMATS, type VariableForm } from './formats.js'

/** Returns whose file this is, by its name and folder. */
export const formatOfPath = (path: string): ClientFormat | undefined => {
  const text = `/${path.replaceAll('\\', '/').toLowerCase()}`
  const ends = (format: ClientFormat): readonly string[] => format.files.filter(end => text.endsWith(end))
  const lengthOf = (format: ClientFormat): number => Math.max(0, ...ends(format).map(({ length }) => length))
  const [first] = FORMATS.filter(format => ends(format).length > 0).sort(
    (one, other) => lengthOf(other) - lengthOf(one),
  )
  return first
}

/** Variables that show that a file belongs to a client with them. */
const TELLING: readonly (readonly [form: VariableForm, sign: string])[] = [
  ['env', '${env:'],
  ['input', '${input:'],
  ['editor', '${workspaceFolder'],
  ['run', '${cmd:'],
]

/** Returns whose content this is, by keys that no other format has; undefined if that is unclear. */
export const formatOfContent = (root: unknown, entries: readonly object[]): ClientFormat | undefined => {
  const keys = [root, ...entries].flatMap(each => (isObject(each) ? Object.keys(each) : []))
  const text = JSON.stringify(entries)
  const used = TELLING.filter(([, sign]) => text.includes(sign))
  const found = FORMATS.filter(
    format =>
      format.keys.some(key => keys.includes(key)) && used.every(([form]) => format.variables.includes(form)),
  )
  return found.length === 1 ? found[0] : undefined
}

/**
 * Returns the format of a file that has the name of `named`'s files. The content decides for other names, and
 * for a `.mcp.json` with keys of other clients: programs without a format here use that name, too.
 */
export const formatOfFile = (
  named: ClientFormat | undefined,
  file: string,
  root: unknown,
  entries: readonly object[],
): ClientFormat | undefined => {
  const isOthers =
    named === undefined ||
    (/(?:^|[/\\])\.mcp\.json$/i.test(file) &&
      [root, ...entries].some(each => isObject(each) && hasOthersKeys(named, each)))
  return isOthers ? formatOfContent(root, entries) : named
}

/** Returns whether a file or an entry has a key that other clients read; Visual Studio reads `servers`. */
const hasOthersKeys = ({ id }: ClientFormat, value: object): boolean =>
  'autoApprove' in value ||
  ('servers' in value && id !== 'visual-studio') ||
  FORMATS.some(format => format.id !== id && format.keys.some(key => key in value))
