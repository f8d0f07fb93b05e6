import type { Reason, Why } from '../../control/api/why.js'
import { visibleText } from '../../kernel/secrets/plain-text.js'
import { numbered, print, printText, printToStderr } from '../shared/output/output.js'
import { askRunning, chooseRunning, pidOption, severalRun } from '../shared/running.js'
import { configOption, defineVerb, EXIT, textOption } from '../shared/verb.js'
import { answerAtRest } from './at-rest.js'

export const why = defineVerb({
  usage: 'why <name>',
  describe: 'Explain the state of a tool, URI, server or error; code 1 if a request for it would fail',
  needs: 'a name, URI, server or error id',
  flags: {
    config: configOption,
    pid: pidOption,
    for: textOption('Also show how clients of this revision of MCP see it'),
    json: { type: 'boolean', describe: 'One JSON document' },
  },
  positionals: {
    name: { type: 'string', demandOption: true, describe: 'A tool, prompt, URI, server, or error id' },
  },
  examples: [
    ['mcp-proxy why github__delete_repo', 'Why clients do not see a tool'],
    ['mcp-proxy why github', 'The state of a server and its last output'],
    ['mcp-proxy why k3fz-1a', 'The cause of an error that a client shows'],
  ],
  async run({ name, config, pid, for: revision, json = false }) {
    const query = new URLSearchParams({ q: name, ...(revision !== undefined && { for: revision }) })
    const { one, all } = await chooseRunning(config, pid)
    if (one === undefined && all.length > 1) throw severalRun(all)
    if (one === undefined)
      printToStderr('mcp-proxy: no proxy is running; this is known from the configuration and the last run')
    const found =
      one === undefined
        ? ((await answerAtRest(config, '/why', query)) as Why)
        : (JSON.parse(await askRunning(one, `/v1/why?${query.toString()}`)) as Why)
    if (json) print(JSON.stringify(found, null, 2))
    else printText(shown(found))
    return found.answered ? EXIT.ok : EXIT.negative
  },
})

/** Verbs for a client's use of each kind. */
const DONE = {
  tool: 'called',
  prompt: 'asked for',
  resource: 'read',
  template: 'read',
  skill: 'read',
} as const
/** Verdicts on items that no client sees. */
const UNSEEN: readonly string[] = [
  'hidden',
  'denied',
  'broken',
  'cut-off',
  'disabled',
  'misconfigured',
  'removed',
]

const headOf = (found: Why): string => `${found.query}: ${headText(found)}`

const headText = ({ kind, answered, verdict }: Why): string => {
  if (kind === 'error') return answered ? 'an error of this run' : 'not known'
  if (kind === 'server') return verdict === 'shown' ? 'ready' : verdict
  if (kind === 'unknown' || verdict === 'unknown' || verdict === 'ambiguous') return verdict
  const done = DONE[kind]
  if (answered) return `${verdict.startsWith('uri-') ? 'not listed' : 'shown'}, can be ${done}`
  return `${UNSEEN.includes(verdict) ? 'not shown, ' : ''}cannot be ${done}`
}

const LABEL_CHARS = 9

const row = (label: string, message: string): string => `  ${label.padEnd(LABEL_CHARS)} ${message}`

const shown = (found: Why): string => rowsOf(found).map(visibleText).join('\n')

const rowsOf = (found: Why): readonly string[] => {
  const { kind, server, about, own, causes, fix, error } = found
  const aboutRow = server === undefined ? [] : [row('server', [server, about].filter(Boolean).join(', '))]
  const rows = [
    ...(kind === 'server' ? [] : aboutRow),
    ...(own === undefined ? [] : [row(kind === 'error' ? 'called' : 'own name', own)]),
    ...causes.map(cause => row(cause.verdict, `${numbered(cause.words, cause.doctor)}${placeOf(cause)}`)),
    ...(kind === 'server' ? aboutRow : []),
    ...(error === undefined ? [] : errorRows(error)),
    ...(fix === undefined ? [] : [row('fix', fix)]),
  ]
  return [headOf(found), ...rows]
}

const placeOf = ({ file, line, column }: Reason): string =>
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
