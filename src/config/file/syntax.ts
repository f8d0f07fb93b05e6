import { createScanner, getNodeValue, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { MAX_DEPTH } from '../defaults.js'
import type { ProblemText, Report } from './problem.js'
import { rootItem, type TreeItem } from './tree.js'

type Code = ReturnType<typeof printParseErrorCode>

const QUOTES = 'Put names and texts in double quotes; only numbers, true, false and null need none.'
const STRING = 'Close the string with " on the same line.'

const WORDS: Readonly<Record<Code, ProblemText>> = {
  InvalidSymbol: { message: 'expected JSON, found an invalid word or character', fix: QUOTES },
  InvalidNumberFormat: {
    message: 'expected a valid number',
    fix: 'Write it as 1, 1.5 or -1.',
  },
  PropertyNameExpected: { message: 'expected the name of a key in double quotes', fix: QUOTES },
  ValueExpected: { message: 'expected a value', fix: 'Write a value here, or remove what announces it.' },
  ColonExpected: {
    message: 'expected ":" after the name of a key',
    fix: 'Write ":" between name and value.',
  },
  CommaExpected: { message: 'expected "," or the end of the object or list', fix: 'Write "," before this.' },
  CloseBraceExpected: {
    message: 'expected "}", found the end of the file',
    fix: 'Close every "{" with "}".',
  },
  CloseBracketExpected: {
    message: 'expected "]", found the end of the file',
    fix: 'Close every "[" with "]".',
  },
  EndOfFileExpected: {
    message: 'expected the end of the file, found more',
    fix: 'Remove the text after the last "}".',
  },
  InvalidCommentToken: { message: 'expected no comment here', fix: 'Remove the comment.' },
  UnexpectedEndOfComment: {
    message: 'expected "*/", found the end of the file',
    fix: 'Close the comment with "*/".',
  },
  UnexpectedEndOfString: { message: 'expected the closing quote of a string', fix: STRING },
  UnexpectedEndOfNumber: { message: 'expected another digit', fix: 'Complete the number.' },
  InvalidUnicode: {
    message: 'expected four hexadecimal digits after "\\u"',
    fix: 'Write them, or "\\\\" for a backslash.',
  },
  InvalidEscapeCharacter: {
    message: 'expected one of "\\/bfnrtu after a backslash',
    fix: 'Write "\\\\" for a backslash, as in "C:\\\\Users".',
  },
  InvalidCharacter: { message: 'expected no control character in a string', fix: 'Write a tab as "\\t".' },
  '<unknown ParseErrorCode>': { message: 'expected JSON', fix: QUOTES },
}

const at = (offset: number): TreeItem => rootItem({ type: 'null', offset, length: 0 })

/** Parses JSON with comments and trailing commas; undefined after an error was reported. */
export function readTree(text: string, report: Report): TreeItem | undefined {
  const { depth, offset } = depthOf(text)
  if (depth > MAX_DEPTH) {
    report.error(at(offset), {
      message: `nested more than ${MAX_DEPTH} levels deep`,
      fix: 'Check that this is the right file.',
    })
    return undefined
  }
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  // Only the first error: the parser guesses after it.
  const [first] = errors
  if (first !== undefined) report.error(at(first.offset), messageFor(first, root === undefined))
  return first === undefined && root !== undefined ? rootItem(root) : undefined
}

const messageFor = ({ error }: ParseError, isEmpty: boolean): ProblemText => {
  const code = printParseErrorCode(error)
  return isEmpty && code === 'ValueExpected'
    ? {
        message: 'expected "{", found an empty file',
        fix: 'Write { "mcpServers": {} } and name your servers in it.',
      }
    : WORDS[code]
}

/** Returns the value of an item; objects in it lack a prototype. */
export const syntaxValueOf = (item: TreeItem): unknown => getNodeValue(item.node) as unknown

/** Returns the nesting of a text, without recursion. */
function depthOf(text: string): { readonly depth: number; readonly offset: number } {
  const scanner = createScanner(text, true)
  let depth = 0
  let deepest = { depth: 0, offset: 0 }
  // Compare offsets: a text that ends in an open comment has no empty last token.
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const sign = text[scanner.getTokenOffset()]
    if (sign === '{' || sign === '[') depth++
    if (sign === '}' || sign === ']') depth--
    if (depth > deepest.depth) deepest = { depth, offset: scanner.getTokenOffset() }
  }
  return deepest
}
