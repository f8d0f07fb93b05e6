import type { Cause, Why } from '../../app/api/why.js'
import { visibleText } from '../../secrets/plain-text.js'
import { configFile, loadFile } from '../configuration.js'
import { numbered, print } from '../output/output.js'
import { askRunning, chooseRunning, pidOption, severalRun } from '../running.js'
import { CliError, configOption, defineVerb, EXIT, textOption } from '../verb.js'

export const why = defineVerb({
  usage: 'why <name>',
  describe: 'Say why a tool, URI, server or error is as it is; code 1 if it would not be answered',
  needs: 'a name, URI, server or error id',
  flags: {
    config: configOption,
    pid: pidOption,
    for: textOption('And what clients of this revision of MCP see in place of it'),
    json: { type: 'boolean', describe: 'One JSON document' },
  },
  positionals: {
    name: { type: 'string', demandOption: true, describe: 'A tool, prompt, URI, server, or error id' },
  },
  examples: [
    ['mcp-proxy why github__delete_repo', 'Why clients do not see a tool'],
    ['mcp-proxy why github', 'How a server is, and what it said last'],
    ['mcp-proxy why k3fz-1a', 'What an error in a client was about'],
  ],
  async run({ name, config, pid, for: revision, json = false }) {
    const query = new URLSearchParams({ q: name, ...(revision !== undefined && { for: revision }) })
    const { one, all } = await chooseRunning(config, pid)
    if (one === undefined && all.length > 1) throw severalRun(all)
    const text =
      one === undefined ? await askHere(config, query) : await askRunning(one, `/v1/why?${query.toString()}`)
    const found = JSON.parse(text) as Why
    print(json ? JSON.stringify(found, null, 2) : shown(found))
    return found.answered ? EXIT.ok : EXIT.negative
  },
})

/** Without a running proxy: what the configuration and what is kept of its servers say. Starts nothing. */
const askHere = async (flag: string | undefined, query: URLSearchParams): Promise<string> => {
  const file = configFile(flag)
  const { config, problems } = await loadFile(file)
  if (config === undefined)
    throw new CliError(EXIT.configuration, `${file} cannot be used: see mcp-proxy check --config ${file}`)
  const [{ createProxy }, { stateDir }] = await Promise.all([
    import('../../app/proxy.js'),
    import('../../app/state/state-key.js'),
  ])
  const servers = config.servers.map(server => ({ ...server, start: 'lazy' as const }))
  const proxy = createProxy(
    { ...config, servers, audit: undefined },
    {
      stateDir: stateDir(process.env),
      configStatus: () => ({
        ...{ file, generation: 1, loadedAt: new Date().toISOString(), lastReload: undefined },
        problems: { errors: 0, warnings: 0 },
      }),
      configProblems: () => problems,
    },
  )
  try {
    const api = await proxy.api()
    const answer = await api.answer({ method: 'GET', path: '/why', query, body: '' })
    return JSON.stringify(answer !== undefined && 'value' in answer ? answer.value : {})
  } finally {
    await proxy.close()
  }
}

/** What clients do with something. */
const DONE = { tool: 'called', prompt: 'asked for', resource: 'read', template: 'read' } as const
/** Verdicts on what no client sees. */
const UNSEEN: readonly string[] = ['hidden', 'broken', 'cut-off', 'disabled', 'misconfigured', 'removed']

const headOf = (found: Why): string => `${found.query}: ${headWords(found)}`

const headWords = ({ kind, answered, verdict }: Why): string => {
  if (kind === 'error') return answered ? 'an error of this run' : 'not known'
  if (kind === 'server') return verdict === 'shown' ? 'ready' : verdict
  if (kind === 'unknown' || verdict === 'unknown' || verdict === 'ambiguous') return verdict
  const done = DONE[kind]
  if (answered) return `${verdict.startsWith('uri-') ? 'not listed' : 'shown'}, can be ${done}`
  return `${UNSEEN.includes(verdict) ? 'not shown, ' : ''}cannot be ${done}`
}

const LABEL_CHARS = 9

const row = (label: string, words: string): string => `  ${label.padEnd(LABEL_CHARS)} ${words}`

const shown = (found: Why): string => rowsOf(found).map(visibleText).join('\n')

const rowsOf = (found: Why): readonly string[] => {
  const { kind, server, about, own, causes, mend, error } = found
  const rows = [
    ...(server === undefined ? [] : [row('server', [server, about].filter(Boolean).join(', '))]),
    ...(own === undefined ? [] : [row(kind === 'error' ? 'called' : 'own name', own)]),
    ...causes.map(cause => row(cause.verdict, `${numbered(cause.words, cause.doctor)}${placeOf(cause)}`)),
    ...(error === undefined ? [] : errorRows(error)),
    ...(mend === undefined ? [] : [row('fix', mend)]),
  ]
  return [headOf(found), ...rows]
}

const placeOf = ({ file, line, column }: Cause): string =>
  file === undefined || line === undefined ? '' : ` (${file}:${line}:${column ?? 1})`

const errorRows = (error: NonNullable<Why['error']>): readonly string[] => {
  const { at, message, method, client, ms, awayMs, state, trace, stderr = [] } = error
  return [
    row('at', at),
    row('message', message),
    ...(method === undefined ? [] : [row('method', method)]),
    ...(client === undefined ? [] : [row('client', String(client))]),
    ...(ms === undefined ? [] : [row('took', `${ms} ms, of them ${awayMs ?? 0} at the server or waiting`)]),
    ...(state === undefined ? [] : [row('state', `the server was ${state}`)]),
    ...stderr.map(line => row('stderr', line)),
    ...(trace === undefined ? [] : [row('trace', trace)]),
  ]
}
