import t from 'tap'
import { commandAt, isGroup } from '../src/cli/all-verbs.js'
import { OWN_PACKAGE } from '../src/kernel/machine/own-package.js'
import { runHere } from './support/proxy/start.js'
import { suggestedByProblems, suggestedByPrograms, textOf, tracked } from './support/suggestions.js'

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
  const commands = suggestedByProblems()
  t.ok(commands.size > 10)
  for (const command of commands) t.equal(await problemsOf(t, command), undefined, command)
})

t.test('every command that a verb or the page suggests is one of the command line', async t => {
  const commands = suggestedByPrograms()
  t.ok(commands.size > 5)
  for (const command of commands) t.equal(await problemsOf(t, command), undefined, command)
})
