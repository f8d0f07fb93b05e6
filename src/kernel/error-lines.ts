import { plainLine } from './secrets/plain-text.js'

/** Stack frames and other lines that a runtime prints around an error: Node, Python, JVM, .NET, Go, Rust. */
const SURROUNDINGS: readonly RegExp[] = [
  /^\s+at \S/,
  /^\s*--- End of /,
  /^\s+\.\.\. \d+ (?:more|common frames)/,
  /^\s+File ".*", line \d+/,
  /^Node\.js v\d/,
  /^\s*[\^~]+\s*$/,
  /^(?:file:\/\/|node:)?\S+:\d+$/,
  /^\s+throw \w+;?$/,
  /^goroutine \d+ \[/,
  /^created by /,
  /^\s+\S+\.go:\d+/,
  /^exit status \d+$/,
  /^\[signal SIG/,
  /^note: run with `RUST_BACKTRACE/,
  /^\(Use `node .*` to show where .*\)\s*$/,
  /^\s*$/,
]

const TRACEBACK = /^Traceback \(most recent call last\)/

/** Matches the line of an uncaught error. */
const ERROR = new RegExp(
  [
    String.raw`^(?:Uncaught )?(?:[\w$]+\.)*[\w$]*(?:Error|Exception|Fault)\b(?: \[\w+\])?(?::|$)`,
    String.raw`^\[(?:[\w$]+\.)*\w*Error\b`,
    '^Exception in thread ',
    '^Unhandled exception',
    '^panic: ',
    '^fatal error: ',
    "^thread '.*' panicked at",
    String.raw`^(?:npm (?:ERR!|error) )?(?:fatal|FATAL)\b`,
  ].join('|'),
)

const shownLine = (line: string): string => plainLine(line).trim()

const isIndented = (line: string): boolean => /^\s/.test(line)

const hasContent = (line: string): boolean => !SURROUNDINGS.some(form => form.test(line))

/** Returns the index of the last uncaught error; -1 if there is none. */
const errorAt = (lines: readonly string[]): number => {
  const traceback = lines.findLastIndex(line => TRACEBACK.test(line))
  const raised =
    traceback < 0
      ? -1
      : lines.findIndex((line, index) => index > traceback && !isIndented(line) && hasContent(line))
  return Math.max(
    raised,
    lines.findLastIndex(line => ERROR.test(line)),
  )
}

/**
 * Selects at most `max` lines of a program's stderr that explain why it exited, oldest first: the error
 * rather than the stack below it. Each is fit for a terminal.
 */
export const errorLines = (lines: readonly string[], max: number): readonly string[] => {
  const error = errorAt(lines)
  const kept = lines.flatMap((line, index) => {
    const isKept = hasContent(line) && !TRACEBACK.test(line)
    return index === error || isKept ? [{ line, index }] : []
  })
  // Some programs write nothing but a stack.
  if (kept.length === 0) return lines.map(shownLine).filter(Boolean).slice(-max)
  const last = kept.slice(-max)
  const isCut = error >= 0 && !last.some(({ index }) => index === error)
  const shown = isCut ? [...kept.filter(({ index }) => index === error), ...last.slice(1)] : last
  return shown.map(({ line }) => shownLine(line))
}

/** Selects the single most informative line; undefined if there is none. */
export const errorLine = (lines: readonly string[]): string | undefined => {
  const error = errorAt(lines)
  return error < 0 ? errorLines(lines, 1)[0] : shownLine(lines[error] ?? '')
}
