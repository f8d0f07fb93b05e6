// The generated parts of docs/clients/*.md: each client's files and our entry, from src/setup.
import { win32 } from 'node:path'
import { table } from './markdown.mjs'

/** The clients that have a page. */
export const PAGES = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex', 'gemini', 'windsurf']

const MACHINES = [
  { label: 'Linux', platform: 'linux', home: '~', env: {} },
  { label: 'macOS', platform: 'darwin', home: '~', env: {} },
  {
    label: 'Windows',
    platform: 'win32',
    home: '%USERPROFILE%',
    env: { APPDATA: '%APPDATA%', LOCALAPPDATA: '%LOCALAPPDATA%' },
  },
]
const PROGRAMS = {
  node: '/usr/bin/node',
  connect: '/home/ann/mcp-proxy/bin/connect.cjs',
  config: '/home/ann/.config/mcp-proxy/mcp.json',
  version: '0.0.0',
}
const URL = 'http://127.0.0.1:8808/mcp'
const LANGUAGES = { jsonc: 'json', toml: 'toml' }

const code = paths => paths.map(path => `\`${path}\``).join(', else ')

const pathsOn = ({ platform, home, env }, { user }, { foldersOf }) => {
  const paths = user(foldersOf({ platform, home, env, cwd: '.' }))
  return platform === 'win32' ? paths.map(path => win32.normalize(path)) : paths
}

/** Returns rows for the variables that move the file, such as `CODEX_HOME`. */
const rowsOfVariables = ({ user }, { foldersOf }) => {
  const asked = []
  const machine = { platform: 'linux', home: '~', env: {}, cwd: '.' }
  user({ ...foldersOf(machine), named: name => void asked.push(name) })
  return asked.map(name => [
    `With \`${name}\``,
    code(user({ ...foldersOf(machine), named: each => (each === name ? `$${name}` : undefined) })),
  ])
}

/** Returns a table of the files that `mcp-proxy install` writes. */
export const fileTable = (client, sources) =>
  table(
    ['Where', 'File'],
    [
      ...MACHINES.map(machine => [machine.label, code(pathsOn(machine, client, sources))]),
      ...rowsOfVariables(client, sources),
      ...(client.project ?? []).map(path => ['Project, with `--scope project`', `\`${path}\``]),
    ],
  )

/** Returns the entry that `mcp-proxy install` writes into an empty file. */
const entryBlock = (client, terms, { edit, entryFor, parseJsonc, parseToml, KEY }) => {
  const value = entryFor(client, { url: URL, view: undefined, project: undefined, ...terms }, PROGRAMS)
  if (value === undefined) return undefined
  const change = { at: client.at, isList: client.isList === true, name: KEY, value }
  const text = edit(client.syntax === 'toml' ? parseToml : parseJsonc, '', [change]).trimEnd()
  return `\`\`\`${LANGUAGES[client.syntax]}\n${text}\n\`\`\``
}

/** Returns our entry, and the one with an address for clients that take one. */
export const entryText = (client, sources) => {
  const remote = entryBlock(client, { via: 'http' }, sources)
  return [
    entryBlock(client, { via: 'stdio' }, sources),
    ...(remote === undefined
      ? ['It takes no address: `--via http` is refused.']
      : ['With `--via http`, for a running `mcp-proxy serve`:', remote]),
  ].join('\n\n')
}
