import { execFile, execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const LINT = fileURLToPath(new URL('../bin/lint-prose.mjs', import.meta.url))

/** Checks a folder with these files. Resolves with the exit code and the output. */
const lint = (root: string, ...args: readonly string[]): Promise<{ code: number; text: string }> =>
  new Promise(resolve => {
    execFile(process.execPath, [LINT, '--all', '--root', root, ...args], (error, out, err) => {
      resolve({ code: error === null ? 0 : 1, text: out + err })
    })
  })

/** Files with one stiff sentence each, and what the check reports about them. */
const STIFF: Readonly<Record<string, readonly [content: string, finding: string]>> = {
  'README.md': ['# It\n\nWhoever calls it is told what is not well.\n', 'README.md:3 [docs] vague subject'],
  'comment.ts': [
    '// What a client is told when it asks.\n',
    'src/comment.ts:1 [comments] starts with a question word',
  ],
  'message.ts': ["f('this is no valid key here')\n", 'src/message.ts:1 [messages] "is no X"'],
  'parts.ts': ["f('the key ' +\n  `${key} is no valid key`)\n", ': the key {key} is no valid key'],
  'page.tsx': ['f(<p>This is what nobody knows here</p>)\n', 'src/page.tsx:1 [messages] vague subject'],
  'code.ts': ['// The rule QX-17 of the clients.\n', 'src/code.ts:1 QX-17: cite a public document'],
}

t.test('the prose check fails for stiff English, and names each place', async t => {
  const { 'README.md': [readme] = [''], ...sources } = STIFF
  const src = Object.fromEntries(Object.entries(sources).map(([file, [content]]) => [file, content]))
  const test = { 'title.ts': "t.test('whoever asks is told what is not well', t => t.end())\n" }
  const { code, text } = await lint(t.testdir({ 'README.md': readme, src, test }))
  t.equal(code, 1)
  for (const [file, [, finding]] of Object.entries(STIFF)) t.ok(text.includes(finding), file)
  t.match(text, 'test/title.ts:1 [titles] vague subject')
})

t.test('the prose check passes plain English without a git history', async t => {
  const root = t.testdir({
    'README.md': '# Proxy\n\nThe proxy connects clients to servers. See RFC 9110 and SEP-2243.\n',
    src: {
      'a.ts': [
        '/** Returns the key that a client sent; undefined if it is missing. */',
        'export const key = (name: string) => `cannot read ${name}: the file is missing`',
        'export const pattern = /whoever|nobody/',
        "export type Mode = 'whoever asks is told'",
        '',
      ].join('\n'),
    },
  })
  const { code, text } = await lint(root, '--since', '0000000')
  t.equal(code, 0, text)
  t.match(text, 'commit subjects: not checked')
})

t.test('the prose check fails for commit subjects that are long or not imperative', async t => {
  const root = t.testdir({})
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-C', root, '-c', 'user.name=x', '-c', 'user.email=x@x', ...args], {
      encoding: 'utf8',
    })
  git('init', '-q')
  const commit = (subject: string) => git('commit', '-q', '--allow-empty', '-m', subject)
  commit('a subject before the check')
  const since = git('rev-parse', 'HEAD').trim()
  commit('fix(cli): print the path')
  t.match(await lint(root, '--since', since), { code: 0 })
  commit('fix(cli): prints the path')
  commit('fixed the path')
  commit(`fix(cli): print ${'long '.repeat(15)}paths`)
  const { code, text } = await lint(root, '--since', since)
  t.equal(code, 1)
  t.match(text, /"prints" is not an imperative/)
  t.match(text, /expected "type\(scope\): imperative": fixed the path/)
  t.match(text, /\d+ characters; at most 72/)
})

t.test('the README has at most 900 words, and the unreleased changes at most 60 lines', async t => {
  const root = t.testdir({
    'README.md': 'word '.repeat(901),
    'CHANGELOG.md': `## [Unreleased]\n${'- line\n'.repeat(61)}## [0.1.0]\n`,
  })
  const { code, text } = await lint(root)
  t.equal(code, 1)
  t.match(text, /README\.md: 901 words/)
  t.match(text, /CHANGELOG\.md: 62 unreleased lines/)
})
