import { existsSync } from 'node:fs'
import { oneLineText, print, printText } from '../shared/output/output.js'
import { defineVerb, EXIT } from '../shared/verb.js'
import {
  configIn,
  type FoundService,
  findService,
  isActive,
  keptAt,
  lingers,
  servicePlaceIn,
} from './found.js'

export const status = defineVerb({
  usage: 'status',
  describe: 'Show whether the service is installed and runs; code 4 if not',
  flags: { json: { type: 'boolean', describe: 'One JSON document' } },
  examples: [
    ['mcp-proxy service status', 'The files it starts, and why it does not run'],
    ['mcp-proxy service status --json', 'The same for programs'],
    ['mcp-proxy service status || mcp-proxy service install', 'Install it unless it runs'],
  ],
  async run({ json = false }) {
    const found = await findService()
    const facts = await factsOf(found)
    if (json) print(JSON.stringify({ version: 1, ...facts }, null, 2))
    else printText(shown(facts).join('\n'))
    return facts.isInstalled && facts.isActive ? EXIT.ok : EXIT.failure
  },
})

const factsOf = async (found: FoundService) => {
  const { command, manager, name } = found
  const isInstalled = command !== undefined
  const place = servicePlaceIn(command)
  const proxy = place && (await keptAt(place, name))
  return {
    manager: name,
    file: manager.file,
    isInstalled,
    isActive: isInstalled && (await isActive(found)),
    command,
    config: configIn(command),
    log: place?.log,
    proxy,
    isLingering: lingers(name),
    problems: missingIn(command).map(path => ({
      id: 'D045',
      message: `the service starts ${path}, which does not exist; fix: mcp-proxy service install`,
    })),
  }
}

/** Returns the missing files among the program, the script and the configuration. */
export const missingIn = (command: readonly string[] | undefined): readonly string[] =>
  [command?.[0], command?.[1], configIn(command)].flatMap(path =>
    path === undefined || existsSync(path) ? [] : [path],
  )

const shown = ({
  manager,
  file,
  isInstalled,
  isActive: runs,
  config,
  log,
  proxy,
  isLingering,
  problems,
}: Awaited<ReturnType<typeof factsOf>>): readonly string[] => {
  if (!isInstalled)
    return [`no service is installed (${manager}, ${file}); install it: mcp-proxy service install`]
  const pid = proxy === undefined ? '' : `, pid ${proxy.pid}, version ${oneLineText(proxy.version)}`
  const silent = runs && proxy === undefined ? ', but does not answer yet' : ''
  return [
    `${manager}: ${runs ? 'runs' : 'does not run'}${pid}${silent}`,
    `service ${file}`,
    `configuration ${config}`,
    ...(log === undefined ? [] : [`log ${log}`]),
    ...(isLingering === false ? ['it ends when you log out; to keep it: loginctl enable-linger'] : []),
    ...problems.map(({ id, message }) => `${id}: ${message}`),
  ]
}
