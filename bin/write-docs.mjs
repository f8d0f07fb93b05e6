// Generates parts of docs/, llms.txt and the list of messages from the code: `npm run docs`, and part of
// `npm run build`. With `--check`, writes nothing and fails if a page is stale.
import { readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { causeTable, exampleFinding } from './docs/cause-tables.mjs'
import { commandsText, exitTable } from './docs/cli-page.mjs'
import { entryText, fileTable, PAGES } from './docs/client-pages.mjs'
import { evidenceText, readRecords } from './docs/evidence-page.mjs'
import { formatTable } from './docs/format-table.mjs'
import { llmsText } from './docs/llms-page.mjs'
import { withPart } from './docs/markdown.mjs'
import { messagesText } from './docs/messages.mjs'
import { floorPlan, roomTable } from './docs/room-map.mjs'
import { limitTable, objectIn, settingTable } from './docs/setting-tables.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Leaves out code that only runs and is not needed for the descriptions. */
const leaveOutLaterParts = {
  name: 'later-parts',
  setup: ({ onResolve }) =>
    onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    ),
}

const load = async (name, code) => {
  const outfile = fileURLToPath(new URL(`../dist/docs-${process.pid}-${name}.mjs`, import.meta.url))
  await build({
    absWorkingDir: root,
    stdin: { contents: code, resolveDir: root },
    outfile,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    logLevel: 'warning',
    plugins: [leaveOutLaterParts],
  })
  try {
    return await import(pathToFileURL(outfile).href)
  } finally {
    await rm(outfile)
  }
}

/** Returns the schema of the objects in a map or list. */
const each = schema => objectIn(schema.additionalProperties ?? schema.items)

/** Returns the generated parts of each page of docs/, by name. */
const partsOf = schema => {
  const { auth, cluster, views, clients, rules, expose, limits, timeouts, mcpServers } = schema.properties
  const rule = each(rules)
  const server = each(mcpServers)
  const { issuers, embedded } = auth.properties
  const login = objectIn(server.properties.oauth)
  const page = 'configuration.md'
  return {
    [page]: {
      settings: settingTable(schema, { page, flatten: SETTING_GROUPS }),
      auth: settingTable(auth, { page, flatten: ['people'] }),
      person: settingTable(each(auth.properties.people), { page }),
      token: settingTable(each(each(auth.properties.people).properties.tokens), { page }),
      issuer: settingTable(each(issuers), { page, flatten: ['introspection'] }),
      embedded: settingTable(objectIn(embedded), { page, flatten: ['login'] }),
      client: settingTable(each(objectIn(embedded).properties.clients), { page }),
      program: settingTable(server, { page, only: PROGRAM_KEYS }),
      remote: settingTable(server, { page, only: REMOTE_KEYS }),
      login: settingTable(login, { page, flatten: ['idp', 'endpoints'] }),
      server: settingTable(server, {
        page,
        flatten: ['tools', 'restart', 'access'],
        omit: [...PROGRAM_KEYS, ...REMOTE_KEYS],
      }),
      override: settingTable(each(server.properties.tools.properties.override), { page }),
      timeouts: settingTable(timeouts, { page }),
    },
    'limits.md': { limits: limitTable(limits, server.properties.limits) },
    'cluster.md': {
      cluster: settingTable(cluster, {
        page: 'cluster.md',
        lead: 'cluster.',
        flatten: ['cluster.peer', 'cluster.peer.tls'],
      }),
    },
    'views.md': {
      view: settingTable(each(views), { page: 'views.md', flatten: ['tools'] }),
      client: settingTable(each(clients), { page: 'views.md' }),
    },
    'rules.md': {
      rule: settingTable(rule, { page: 'rules.md', flatten: ['who', 'annotations'] }),
      tests: settingTable(each(rule.properties.when), { page: 'rules.md' }),
      rate: settingTable(objectIn(rule.properties.rate), { page: 'rules.md' }),
      ask: settingTable(rule.properties.ask, { page: 'rules.md', flatten: ['of'] }),
    },
    'search.md': { expose: settingTable(objectIn(expose), { page: 'search.md', lead: 'expose.' }) },
  }
}

const SETTING_GROUPS = [
  'listen',
  'log',
  'audit',
  'lock',
  'metrics',
  'tracing',
  'daemon',
  'results',
  'requestState',
]
const PROGRAM_KEYS = ['command', 'args', 'env', 'cwd']
const REMOTE_KEYS = ['url', 'serverUrl', 'httpUrl', 'headers', 'type', 'oauth', 'credentials', 'signInTool']

const pages = async () => {
  const { documentedSchema } = await load(
    'schema',
    "export { documentedSchema } from './src/config/schema/json-schema.ts'",
  )
  const verbs = await load(
    'verbs',
    "export { SECTIONS } from './src/cli/all-verbs.ts'; export { EXIT_TABLE } from './src/cli/shared/verb.ts'",
  )
  const causes = await load(
    'causes',
    "export * from './src/diagnostics/causes.ts'; export { cause, explain } from './src/diagnostics/explain.ts'",
  )
  const clients = await load('clients', CLIENT_SOURCES)
  const all = {
    ...partsOf(documentedSchema()),
    ...clientParts(clients),
    'cli.md': { commands: commandsText(verbs.SECTIONS), 'exit codes': exitTable(verbs.EXIT_TABLE) },
    'clients.md': { formats: formatTable(clients.FORMATS) },
    'doctor.md': { messages: causeTable(causes) },
    '../README.md': { finding: exampleFinding(causes) },
    'architecture.md': { rooms: await floorPlan() },
    '../src/README.md': { rooms: await roomTable() },
  }
  const found = []
  for (const [name, parts] of Object.entries(all)) {
    let text = await readFile(urlOf(name), 'utf8')
    for (const [part, table] of Object.entries(parts)) text = withPart(text, part, table)
    found.push([urlOf(name), text])
  }
  return [
    ...found,
    [urlOf('evidence.md'), await evidencePage(clients)],
    [new URL('../llms.txt', import.meta.url), await llmsText(new URL('../', import.meta.url))],
    [new URL('../test/messages.snapshot.txt', import.meta.url), messagesText(root)],
  ]
}

const CLIENT_SOURCES = `
  export { CLIENTS } from './src/setup/clients/clients.ts'
  export { foldersOf } from './src/setup/clients/machine.ts'
  export { edit } from './src/setup/edit/change.ts'
  export { parseJsonc } from './src/setup/edit/jsonc.ts'
  export { parseToml } from './src/setup/edit/toml.ts'
  export { entryFor, KEY } from './src/setup/install/entry.ts'
  export { FORMATS } from './src/setup/clients/formats.ts'
  export { searchTools } from './src/search/search-tools.ts'
  export { toolCapOf } from './src/search/tool-cost.ts'`

/** Returns the generated parts of the pages of clients. */
const clientParts = sources => {
  const found = {}
  for (const id of PAGES) {
    const client = sources.CLIENTS.find(each => each.id === id)
    found[`clients/${id}.md`] = {
      files: fileTable(client, sources),
      entry: entryText(client, sources),
    }
  }
  return found
}

const NUMBERS = ['none', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']

/** Returns docs/evidence.md, with the figures that the README takes from the code. */
const evidencePage = async ({ CLIENTS, searchTools, toolCapOf }) => {
  const root = new URL('../', import.meta.url)
  return evidenceText({
    records: await readRecords(root),
    performance: await readFile(urlOf('performance.md'), 'utf8'),
    facts: [
      [
        `Claude Code, Cursor and ${CLIENTS.length - 2} other clients`,
        '`src/setup/clients/clients.ts`, and a file of each client in `test/fixtures/clients/`',
      ],
      [
        `Cursor takes ${toolCapOf('cursor').max} tools`,
        "`src/search/tool-cost.ts`, from Cursor's documentation",
      ],
      [`${NUMBERS[searchTools([]).length]} search tools`, '`src/search/search-tools.ts`'],
      ['four example servers', '`mcp-proxy.example.json`'],
    ],
  })
}

const urlOf = name => new URL(`../docs/${name}`, import.meta.url)

export const writeDocs = async () => {
  for (const [url, text] of await pages()) await writeFile(url, text)
}

/** Returns the paths of pages that differ from the code. */
const stalePages = async () => {
  const stale = []
  for (const [url, text] of await pages()) {
    const now = await readFile(url, 'utf8').catch(() => '')
    if (now !== text) stale.push(fileURLToPath(url))
  }
  return stale
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv.includes('--check')) {
    const stale = await stalePages()
    for (const path of stale) console.error(`${path} is stale; fix: npm run docs`)
    process.exitCode = stale.length > 0 ? 1 : 0
  } else await writeDocs()
}
