import { execFileSync } from 'node:child_process'

/** Older subjects were not checked: some are too long. */
const CHECKED_SINCE = '8c5420c1'
const LONGEST = 72
const SUBJECT = /^(?:feat|fix|perf|refactor|docs|test|style|build|ci)(?:\([\w,./-]+\))?: (\S+)/
/** Past tense, gerunds and the third person; "pass" and "bring" are imperatives. */
const NOT_IMPERATIVE =
  /^(?!(?:embed|feed|need|speed|shed|bring|ring|ping|string)$)\w+(?:ed|ing|[^su]s)$|^[^a-z]/

/** Returns the problem of a commit subject; undefined if there is none. */
export const problemOfSubject = subject => {
  const first = SUBJECT.exec(subject)?.[1]
  if (first === undefined) return 'expected "type(scope): imperative"'
  if (subject.length > LONGEST) return `${subject.length} characters; at most ${LONGEST}`
  return NOT_IMPERATIVE.test(first) ? `"${first}" is not an imperative in lower case` : undefined
}

const git = (root, ...args) =>
  execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })

/** Returns `{ hash, subject }` of each commit to check; undefined without git or without the history. */
export const commitsToCheck = (root, since = CHECKED_SINCE) => {
  try {
    git(root, 'merge-base', '--is-ancestor', since, 'HEAD')
    const lines = git(root, 'log', '--no-merges', '--format=%h %s', `${since}..HEAD`).split('\n')
    return lines
      .filter(Boolean)
      .map(line => ({ hash: line.slice(0, line.indexOf(' ')), subject: line.slice(line.indexOf(' ') + 1) }))
  } catch {
    return undefined
  }
}
