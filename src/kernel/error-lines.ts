import { plainLine } from './secrets/plain-text.js'

/**
 * Stack frames and other lines that a runtime prints around an error. Programs write them: no form here may
 * take more than linear time.
 */
const SURROUNDINGS: readonly RegExp[] = [
  // Node, and frames of the JVM and .NET.
  /^\s+at \S/,
  /^Node\.js v\d/,
  /^\s*[\^~]+\s*$/,
  /^(?:file:\/\/|node:)?\S+:\d+$/,
  /^\s+throw \w+;?$/,
  /^\s*triggerUncaughtException\(/,
  /^\(Use `node [^`]*` to show where /,
  /^\s+(?:code|errno|syscall|requireStack|\[Symbol\(.*\)\]): /,
  /^\s*[{}[\]]+,?\s*$/,
  // Python, also within exception groups.
  /^\s+File ".*", line \d+/,
  /^(?:During handling of|The above exception was)\b/,
  /^\+[-+]+/,
  // JVM and .NET.
  /^\s*--- End of /,
  /^\s+\.\.\. \d+ (?:more|common frames)/,
  // Go.
  /^goroutine \d+ \[/,
  /^created by /,
  /^\s+\S+\.go:\d+/,
  /^[\w./*()-][\w./*)-]*\(.*\)$/,
  /^exit status \d+$/,
  /^\[signal SIG/,
  // Rust.
  /^note: run with `RUST_BACKTRACE/,
  /^stack backtrace:/,
  /^\s+\d+: \S/,
  // Ruby.
  /^\s+from \S+:\d+/,
  /^\s*$/,
]

const TRACEBACK = /Traceback \(most recent call last\)/
/** Node and Python point at the source with such a line; the error follows. */
const POINTER = /^\s*\^[\s^~]*$/

/** Lines of npm about an error that do not name it. */
const NPM_ERROR_DETAIL =
  /^(?:code|errno|syscall|path|dest|cwd|command|signal|workspace|A complete log|Note|This is|\d+$)/
const NPM = /^npm (?:ERR!|error) (.+)$/

/** The line of an uncaught error, by runtime. */
const ERRORS: readonly RegExp[] = [
  // Node and Python: a class, with a code if there is one.
  /^(?:Uncaught )?(?:[\w$]+\.)*[\w$]*(?:Error|Exception|Fault)\b(?: \[\w+\])?(?::|$)/,
  /^\[(?:[\w$]+\.)*\w*(?:Error|Rejection)\b/,
  /^\s+\[cause\]: \S/,
  // JVM.
  /^Exception in thread /,
  /^Caused by: /,
  // .NET.
  /^Unhandled exception/i,
  /^\s*---> \S/,
  // Go.
  /^panic: /,
  /^fatal error: /,
  // Rust.
  /^thread '.*' (?:\(\d+\) )?panicked at/,
  // Ruby and PHP.
  /\((?:\w+::)*\w*(?:Error|Exception)\)$/,
  /^PHP (?:Fatal|Parse) error: /,
  // Deno, Bun, uv, docker and programs with a command line.
  /^(?:[\w.-]+: )?error: \S/i,
  /^docker: \S/,
  /^\s*(?:╰─▶|×) \S/,
  // Errors logged by a program itself.
  /^(?:FATAL|fatal|Fatal)\b/,
  /\b(?:[A-Z]\w*)?(?:Error|Exception): \S/,
]

/** Words of a message about a failure that has no form of its own. */
const ERROR_WORDS =
  /\b(?:required|requires|missing|not (?:found|set|defined|provided|configured|allowed|installed|supported)|must (?:be|set|have|provide)|invalid|cannot|can't|could not|unable to|failed|denied|refused|unauthori[sz]ed|forbidden|no such|does not exist)\b/i

/** Removes the bars of Python's exception groups. */
const withoutBars = (line: string): string => line.replace(/^\s*(?:\|\s?)+/, '')

const shownLine = (line: string): string => plainLine(withoutBars(line)).trim()

const hasContent = (line: string): boolean => {
  const bare = withoutBars(line)
  return !SURROUNDINGS.some(form => form.test(bare)) && !TRACEBACK.test(bare)
}

const isIndented = (line: string): boolean => /^\s/.test(line)

const isError = (line: string): boolean => {
  const bare = withoutBars(line)
  return ERRORS.some(form => form.test(bare)) && hasContent(line)
}

/** Returns whether a line names an error, and is worth more than the lines around it. */
export const isTelling = (line: string): boolean =>
  isError(line) || ((NPM.test(line) || ERROR_WORDS.test(line)) && hasContent(line))

/** Returns the index of the first line from `from` on that a runtime does not print around an error. */
const contentAfter = (lines: readonly string[], from: number): number =>
  lines.findIndex((line, index) => index > from && !isIndented(withoutBars(line)) && hasContent(line))

/** npm prints the error first, and advice after it. */
const npmErrorAt = (lines: readonly string[]): number =>
  lines.findIndex(line => {
    const text = NPM.exec(line)?.[1]?.trim()
    return text !== undefined && text !== '' && !NPM_ERROR_DETAIL.test(text)
  })

/** Returns the index of the line that names the last error; -1 if there is none. */
const errorAt = (lines: readonly string[]): number => {
  const npm = npmErrorAt(lines)
  const after = (form: RegExp): number => {
    const last = lines.findLastIndex(line => form.test(withoutBars(line)))
    return last < 0 ? -1 : contentAfter(lines, last)
  }
  const found = Math.max(after(TRACEBACK), after(POINTER), lines.findLastIndex(isError))
  return found < 0 ? npm : found
}

/** Headers whose message is on the next lines: of Rust, of validators, and any that end in a colon. */
const ERROR_HEADER = /:$|\bvalidation errors? for \S+$/

/** The reason in Node's line about an unhandled rejection. */
const REJECTION_ERROR = /rejected with the reason "(.*)"\.?\]/

/** Returns the line of an error, with the following one if that has the message. */
const messageAt = (lines: readonly string[], index: number): string => {
  const line = shownLine(lines[index] ?? '')
  const rejected = REJECTION_ERROR.exec(line)?.[1]
  if (rejected !== undefined) return `Unhandled rejection: ${rejected}`
  if (!ERROR_HEADER.test(line)) return line
  const rest = lines.slice(index + 1).filter(hasContent)
  return [line, ...rest.slice(0, line.endsWith(':') ? 1 : 2).map(shownLine)].join(' ')
}

/**
 * Selects at most `max` lines of a program's stderr that explain why it exited, oldest first: the error
 * rather than the stack around it. Each is fit for a terminal.
 */
export const errorLines = (lines: readonly string[], max: number): readonly string[] => {
  const error = errorAt(lines)
  const traceback = lines.findLastIndex(line => TRACEBACK.test(line))
  // Python shows the source line of each frame.
  const isSource = (line: string, index: number): boolean =>
    traceback >= 0 && index > traceback && index < error && isIndented(withoutBars(line))
  const kept = lines.flatMap((line, index) =>
    index === error || (hasContent(line) && !isSource(line, index)) ? [{ line, index }] : [],
  )
  // Some programs write nothing but a stack.
  if (kept.length === 0) return lines.map(shownLine).filter(Boolean).slice(-max)
  const last = kept.slice(-max)
  const isCut = error >= 0 && !last.some(({ index }) => index === error)
  const shown = isCut ? [...kept.filter(({ index }) => index === error), ...last.slice(1)] : last
  return shown.map(({ line }) => shownLine(line))
}

/**
 * Selects the single most informative line: the error, else the last line about a failure, else the last one.
 * Undefined if there is none.
 *
 * @internal
 */
export const errorLine = (lines: readonly string[]): string | undefined => {
  const error = errorAt(lines)
  if (error >= 0) return messageAt(lines, error)
  const failure = lines.findLastIndex(line => ERROR_WORDS.test(line) && hasContent(line))
  return failure < 0 ? errorLines(lines, 1)[0] : messageAt(lines, failure)
}

/** Adds the most informative line of a program's stderr to the reason of its end. */
export const withErrorLine = (why: string, stderr: readonly string[] | undefined): string => {
  const line = errorLine(stderr ?? [])
  return line === undefined || why.includes(line) ? why : `${why}; it last wrote: ${line}`
}
