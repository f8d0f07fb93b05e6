// Checks the English of docs, comments, messages, test titles and commit subjects: `npm run check:prose`.
// Fails if the share of stiff sentences of a kind is above its limit, and for each private code, long page
// and bad subject. `--all` prints every stiff sentence; `--root DIR` checks another folder, and
// `--since COMMIT` other commits.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { commentsOf, messagesOf, titlesOf, treeOf } from './prose/code.mjs'
import { commitsToCheck, problemOfSubject } from './prose/commits.mjs'
import { filesBelow, hasMessages, isCode } from './prose/files.mjs'
import { paragraphsOf } from './prose/markdown.mjs'
import { LIMITS, privateCodeIn, sentencesOf, stiffnessOf } from './prose/rules.mjs'

const { values } = parseArgs({
  options: { all: { type: 'boolean' }, root: { type: 'string' }, since: { type: 'string' } },
})
const root = values.root ?? fileURLToPath(new URL('..', import.meta.url))

const CHECKED = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'docs',
  'src',
  'bin',
  'config',
  'test',
  'bench',
]
const README_WORDS = 900
const UNRELEASED_LINES = 60

/** Returns the texts of a file as `[kind, { line, text }]`. */
const textsOf = (path, content) => {
  if (path.endsWith('.md')) return paragraphsOf(content).map(text => ['docs', text])
  const tree = treeOf(path, content)
  const comments = commentsOf(tree).map(text => ['comments', text])
  if (/^(?:test|bench)\//.test(path)) return [...comments, ...titlesOf(tree).map(text => ['titles', text])]
  return hasMessages(path) ? [...comments, ...messagesOf(tree).map(text => ['messages', text])] : comments
}

const stiff = []
const problems = []
const counts = Object.fromEntries(Object.keys(LIMITS).map(kind => [kind, { sentences: 0, stiff: 0 }]))

const checkText = (path, kind, { line, text }) => {
  const code = privateCodeIn(text)
  if (code !== undefined) problems.push(`${path}:${line} ${code}: cite a public document instead`)
  for (const sentence of sentencesOf(text)) {
    const names = stiffnessOf(kind, sentence)
    counts[kind].sentences++
    if (names.length === 0) continue
    counts[kind].stiff++
    stiff.push(`${path}:${line} [${kind}] ${names.join(', ')}: ${sentence.slice(0, 160)}`)
  }
}

const checkSize = (path, content) => {
  const words = content.split(/\s+/).filter(Boolean).length
  if (path === 'README.md' && words > README_WORDS)
    problems.push(`${path}: ${words} words; at most ${README_WORDS}`)
  if (path !== 'CHANGELOG.md') return
  const lines = (content.split(/^## /m)[1] ?? '').trim().split('\n').length
  if (lines > UNRELEASED_LINES)
    problems.push(`${path}: ${lines} unreleased lines; at most ${UNRELEASED_LINES}`)
}

for (const path of CHECKED.flatMap(path => filesBelow(root, path))) {
  if (!path.endsWith('.md') && !isCode(path)) continue
  const content = readFileSync(join(root, path), 'utf8')
  checkSize(path, content)
  for (const [kind, text] of textsOf(path, content)) checkText(path, kind, text)
}

const commits = commitsToCheck(root, values.since)
if (commits === undefined)
  console.log('commit subjects: not checked, because the git history is not available')
for (const { hash, subject } of commits ?? []) {
  const problem = problemOfSubject(subject)
  if (problem !== undefined) problems.push(`commit ${hash}: ${problem}: ${subject}`)
}

for (const [kind, { sentences, stiff: number }] of Object.entries(counts)) {
  const percent = sentences === 0 ? 0 : (100 * number) / sentences
  console.log(
    `${kind}: ${number} of ${sentences} sentences are stiff (${percent.toFixed(1)} %, at most ${LIMITS[kind]} %)`,
  )
  if (percent > LIMITS[kind])
    problems.push(`${kind}: too many stiff sentences; \`node bin/lint-prose.mjs --all\` lists them`)
}
if (values.all) for (const finding of stiff) console.log(finding)
for (const problem of problems) console.error(problem)
process.exitCode = problems.length > 0 ? 1 : 0
