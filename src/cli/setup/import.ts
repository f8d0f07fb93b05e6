import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { OnConflict, Plan, Planned } from '../../setup/import/plan.js'
import type { Sources } from '../../setup/import/sources.js'
import type { OwnFile } from '../../setup/own-file.js'
import { configTarget } from '../shared/configuration.js'
import { askUser, confirm, isInteractive } from '../shared/output/ask.js'
import { count, print, printToStderr } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { ownScripts, setupFiles, setupMachine } from '../shared/setup-files.js'
import {
  CliError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textOption,
  textsOption,
  type VerbArguments,
} from '../shared/verb.js'
import { followedBy } from './followed.js'

const flags = {
  config: configOption,
  from: textsOption('Only these clients (such as cursor), or a file; by default, all clients that are found'),
  all: { type: 'boolean', describe: 'All clients that are found; the default without --from' },
  project: textOption('A project folder whose client files are read too'),
  only: textOption('Only servers whose names fit this pattern, such as "git*"'),
  name: textOption('The name for a server without one in its source'),
  secrets: {
    choices: ['env', 'keep'],
    default: 'env',
    requiresArg: true,
    describe: 'Move secrets into secrets.env next to the configuration, or keep them in the entries',
  },
  'on-conflict': {
    choices: ['ask', 'rename', 'skip', 'replace'],
    default: 'ask',
    requiresArg: true,
    describe:
      'What to do with a server that exists with other variables; without a terminal, ask means rename',
  },
  'dry-run': { type: 'boolean', describe: 'Show what would be written, and write nothing' },
  yes: { type: 'boolean', describe: 'Write without asking' },
  json: jsonOption,
} as const

const positionals = {
  file: { type: 'string', describe: 'A file of any client, or - for text on stdin' },
} as const

type Args = VerbArguments<typeof flags, typeof positionals>

export const importVerb = defineVerb({
  usage: 'import [file]',
  describe: 'Copy the servers of clients, or of a file, into the configuration',
  flags,
  positionals,
  examples: [
    ['mcp-proxy import --dry-run', 'Which servers all clients of this machine have'],
    ['mcp-proxy import --from cursor --only "git*"', 'Some servers of one client'],
    ['pbpaste | mcp-proxy import -', 'A piece of configuration that was copied from a page'],
  ],
  async run(args) {
    const [{ files }, { openOwnFile, writeOwnFile }, { planImport }, { projectsText }] = await Promise.all([
      setupFiles(),
      import('../../setup/own-file.js'),
      import('../../setup/import/plan.js'),
      import('../../setup/import/sources.js'),
    ])
    const own = await openOwnFile(files, configTarget(args.config), setupMachine())
    const { sources, problems, projects } = await readSources(args)
    const isAsking =
      isInteractive() && [args.yes, args.dryRun].every(flag => flag !== true) && fileOf(args) !== '-'
    const plan = await planImport(own, sources, {
      keepsSecrets: args.secrets === 'keep',
      only: args.only,
      name: args.name,
      scripts: ownScripts(),
      onConflict: (name, from) => resolveConflict(args.onConflict, isAsking, { name, from }),
      askSecret: async (name, server) =>
        isAsking ? await askUser(`${name} for ${server}: `, true) : undefined,
    })
    for (const problem of problems) printToStderr(problem.message)
    for (const each of projects) printToStderr(projectsText(each))
    show(args, own, plan)
    const changes = plan.servers.flatMap(({ name, as = name, entry }) =>
      entry === undefined ? [] : [{ at: [], name: as, value: entry }],
    )
    if (changes.length === 0) printToStderr('nothing new to import')
    else if (args.dryRun === true) printToStderr(`${changes.length} new; ${NOTHING}`)
    else if (isAsking && !(await confirm('write?'))) throw new CliError(EXIT.negative, NOTHING)
    else {
      await writeOwnFile(files, own, changes, plan.secrets)
      printToStderr(`${changes.length} new, written to ${own.file.state.path}`)
      return await followedBy(own.file.state.path)
    }
    return problems.length > 0 && sources.length === 0 ? EXIT.failure : EXIT.ok
  },
})

const NOTHING = 'nothing was written'

/** yargs reads a lone dash as an empty string. */
const fileOf = ({ file }: Args): string | undefined => (file === '' ? '-' : file)

/** Reads the sources that the command line names. Throws a CliError for an unknown client. */
const readSources = async (args: Args): Promise<Sources> => {
  const [{ files }, { readClients, readGiven, readPasted }, { CLIENTS }] = await Promise.all([
    setupFiles(),
    import('../../setup/import/sources.js'),
    import('../../setup/clients/clients.js'),
  ])
  const { disk } = files
  const project = args.project === undefined ? undefined : await checkedFolder(resolve(args.project))
  const file = fileOf(args)
  const given = [...(file === undefined ? [] : [file]), ...(args.from ?? [])]
  const named = given.filter(word => CLIENTS.some(({ id }) => id === word))
  const others = given.filter(word => !named.includes(word))
  for (const word of others) {
    if (/^[a-z-]+$/.test(word) && word !== '-') await checkIsFile(word)
  }
  const read = others.map(word =>
    word === '-' ? text(process.stdin).then(readPasted) : readGiven(disk, word, setupMachine()),
  )
  const fromFiles = await Promise.all(read)
  if (given.length > 0 && named.length === 0 && args.all !== true)
    return { sources: fromFiles, problems: [], projects: [] }
  const clients =
    args.all === true || given.length === 0 ? undefined : CLIENTS.filter(({ id }) => named.includes(id))
  const found = await readClients({ machine: setupMachine(), disk, clients, project })
  return { ...found, sources: [...fromFiles, ...found.sources] }
}

const checkedFolder = async (folder: string): Promise<string> => {
  const { statSync } = await import('node:fs')
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true) return folder
  throw new CliError(EXIT.usage, `--project needs a folder, and ${folder} is none`)
}

const checkIsFile = async (word: string): Promise<void> => {
  const [{ existsSync }, { CLIENTS }, { suggest }] = await Promise.all([
    import('node:fs'),
    import('../../setup/clients/clients.js'),
    import('../../config/schema/suggest.js'),
  ])
  if (existsSync(word)) return
  const ids = CLIENTS.map(({ id }) => id)
  const meant = suggest(word, ids)
  const fix = meant === undefined ? `clients are ${ids.join(', ')}` : `did you mean ${meant}?`
  throw new CliError(EXIT.usage, `"${word}" is neither a client nor a file; ${fix}`)
}

const resolveConflict = async (
  given: Args['onConflict'],
  isAsking: boolean,
  { name, from }: { readonly name: string; readonly from: string },
): Promise<OnConflict> => {
  if (given !== 'ask') return given
  if (!isAsking) return 'rename'
  const answer = await askUser(
    `${name} is there, and has other variables in ${from}: rename, skip or replace? [r/s/p] `,
  )
  return /^s/i.test(answer) ? 'skip' : /^p|^replace/i.test(answer) ? 'replace' : 'rename'
}

const WORDS: Readonly<Record<Planned['state'], string>> = {
  new: 'new',
  renamed: 'new, renamed',
  replaced: 'replaces',
  there: 'there already',
  restricted: 'there already, gets stricter rules',
  same: 'the same as',
  own: 'this proxy itself',
  skipped: 'skipped',
  unnamed: 'needs a name: pass --name',
}

const show = (args: Args, own: OwnFile, { servers, secrets }: Plan): void => {
  if (args.json === true) {
    const listed = servers.map(({ entry, ...server }) => ({
      ...server,
      isOff: undefined,
      disabled: entry?.['disabled'] === true,
    }))
    const written = { file: own.secrets.path, names: [...secrets.keys()] }
    const file = own.file.state.path
    print(
      JSON.stringify({ version: 1, file, dryRun: args.dryRun === true, servers: listed, secrets: written }),
    )
    return
  }
  const rows = servers.map(({ name, from, state, as, secrets: names }) => {
    const isOther = as !== undefined && as !== name
    return [name, from, `${WORDS[state]}${isOther ? ` (${as})` : ''}`, names.join(', ')]
  })
  if (rows.length > 0) print(tableText(['NAME', 'FROM', 'STATE', 'SECRETS MOVED'], rows, stdoutLayout()))
  for (const { name, notes } of servers) for (const note of new Set(notes)) printToStderr(`${name}: ${note}`)
  if (secrets.size > 0) printToStderr(`${count(secrets.size, 'secret')} for ${own.secrets.path}`)
}
