import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { commandAt, isGroup } from '../src/cli/all-verbs.js'
import { OWN_PACKAGE } from '../src/machine/own-package.js'
import { PROBLEMS } from '../src/problems/table.js'
import { runHere } from './support/proxy/start.js'

const root = fileURLToPath(new URL('..', import.meta.url))

const tracked = (...folders: string[]): readonly string[] =>
  execFileSync('git', ['ls-files', '-z', ...folders], { cwd: root, encoding: 'utf8' })
    .split('\0')
    .filter(Boolean)

const textOf = (file: string): string => readFileSync(`${root}/${file}`, 'utf8')

const DOCUMENTS = ['README.md', 'SECURITY.md', 'CONTRIBUTING.md', 'docs', 'config', 'mcp-proxy.example.json']

t.test(
  'no text has the package fetched from a registry while it is not published',
  { skip: OWN_PACKAGE.isPublished },
  t => {
    const { name } = OWN_PACKAGE
    const fetching = new RegExp(
      `\\b(?:npx|bunx|pnpx|npm exec|pnpm dlx|yarn dlx|(?:npm|pnpm|yarn|bun) (?:i|install|add|global add))\\b[^\\n|]*\\b${name}(?!/)`,
    )
    const files = tracked('src', 'bin', ...DOCUMENTS).filter(file => !/\.(?:png|gz)$/.test(file))
    t.ok(files.length > 500)
    const found = files.flatMap(file =>
      textOf(file)
        .split('\n')
        .filter(line => fetching.test(line))
        .map(line => `${file}: ${line.trim()}`),
    )
    t.same(found, [])
    t.end()
  },
)

/** The commands of this program in a text; what stands in capitals or braces is filled in. */
const commandsIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?<![\w/.@-])mcp-proxy ((?:[a-z]+)(?: [^\s"'`|,;()]+)*)/g)].map(
    ([, words = '']) => words,
  )

const VALUES: Readonly<Record<string, string>> = { id: 'cursor', port: '8808', CLIENT: 'cursor', N: '8808' }

const filled = (command: string): readonly string[] =>
  command
    .split(' ')
    .map(word =>
      word.replace(
        /^\{?(\w+)\}?$/,
        (all, name: string) => VALUES[name] ?? (/^[A-Z]+$|^\{/.test(all) ? 'x' : all),
      ),
    )

/** The help of a verb names all its flags. */
const problemsOf = async (t: Parameters<typeof runHere>[0], command: string): Promise<string | undefined> => {
  const words = filled(command)
  const found = commandAt(words)
  if (found === undefined) return `unknown verb: ${command}`
  const isOfGroup = words[1] !== undefined && !isGroup(found) && commandAt([words[0] ?? '']) !== found
  const { out } = await runHere(t, ...words.slice(0, isOfGroup ? 2 : 1), '--help')
  const flags = words.flatMap(word => /^(--[a-z-]+)/.exec(word)?.[1] ?? [])
  // The help does not show the flag that services add.
  const unknown = flags.find(flag => flag !== '--service' && !new RegExp(`${flag}\\b`).test(out))
  return unknown === undefined ? undefined : `${command}: unknown option ${unknown}`
}

t.test('every command that the table of problems suggests is one of the command line', async t => {
  const commands = new Set(Object.values(PROBLEMS).flatMap(({ mend }) => commandsIn(mend)))
  t.ok(commands.size > 10)
  for (const command of commands) t.equal(await problemsOf(t, command), undefined, command)
})

t.test('every command that a verb or the page suggests is one of the command line', async t => {
  const suggested =
    /(?:fix|mend|undo|Next|first|again|to add \w+|after an update)[^\n]{0,40}?`?(?<!\w)mcp-proxy [a-z]+[^\n`'"]*/g
  const commands = new Set(
    tracked('src/cli', 'src/doctor', 'src/ui', 'src/setup')
      .filter(file => /\.tsx?$/.test(file))
      .flatMap(file => textOf(file).match(suggested) ?? [])
      .flatMap(commandsIn)
      .map(command => command.replace(/\$\{[^}]*\}?.*$/, '').trim())
      .filter(command => command !== ''),
  )
  t.ok(commands.size > 5)
  for (const command of commands) t.equal(await problemsOf(t, command), undefined, command)
})
