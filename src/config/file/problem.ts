import type { ProblemId } from '../../diagnostics/causes.js'
import { escapeUnits } from '../../kernel/hidden-text.js'
import type { Problem, ProblemFacts } from '../types.js'
import type { Spot, TreeItem } from './tree.js'

export interface ProblemText {
  /** The problem number; D011 if absent. */
  readonly id?: ProblemId
  /** The facts of D020 and D023. */
  readonly facts?: ProblemFacts
  readonly message: string
  readonly fix: string
}

export interface Report {
  readonly errors: number
  readonly problems: readonly Problem[]
  /** A bad value: points at the value. */
  error(item: TreeItem, words: ProblemText): void
  warning(item: TreeItem, words: ProblemText): void
  /** A bad name, or a member that should not be there: points at the name. */
  nameError(item: TreeItem, words: ProblemText): void
  nameWarning(item: TreeItem, words: ProblemText): void
}

/** Creates a report on a file; `locate` turns its offsets into places. */
export function createReport(file: string, locate: (offset: number) => Spot): Report {
  const found: { readonly offset: number; readonly problem: Problem }[] = []
  let errors = 0
  const add = (severity: Problem['severity'], offset: number, key: string, words: ProblemText): void => {
    if (severity === 'error') errors += 1
    found.push({ offset, problem: { severity, file, ...locate(offset), key, ...words } })
  }
  return {
    get errors() {
      return errors
    },
    get problems() {
      return found.toSorted((a, b) => a.offset - b.offset).map(({ problem }) => problem)
    },
    error: (item, words) => add('error', item.node.offset, item.key, words),
    warning: (item, words) => add('warning', item.node.offset, item.key, words),
    nameError: (item, words) => add('error', item.nameOffset, item.key, words),
    nameWarning: (item, words) => add('warning', item.nameOffset, item.key, words),
  }
}

// The file may be from another user: no escape sequences for the terminal.
const printable = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, escapeUnits)

/**
 * Formats a problem as one line: `file:line:column: error: mcpServers.github.url: message. fix`, with its
 * number unless it is D011.
 */
export function formatProblem(problem: Problem): string {
  const { id, file, line, column, severity, key, message, fix } = problem
  const number = id === undefined ? '' : ` (${id})`
  const place = line === 0 ? file : `${file}:${line}:${column}`
  return printable(`${place}: ${severity}: ${key === '' ? '' : `${key}: `}${message}. ${fix}${number}`)
}
