import type { ToolsView } from '../../control/api/views.js'
import { print, printToStderr } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { askRunning, theRunning } from '../shared/running.js'
import { CliError, EXIT } from '../shared/verb.js'

interface Asked {
  readonly url?: string | undefined
  readonly config?: string | undefined
  readonly pid?: string | undefined
  readonly json?: boolean | undefined
}

const HEADINGS = ['TOOL', 'SERVER', 'CALLS', 'FAILED', 'P50', 'P99']

/** The maximum that a proxy returns at once. */
const MOST = 10_000

/** Shows call counts and durations of tools, most called first. Throws a CliError. */
export const showTools = async ({ url, config, pid, json }: Asked): Promise<number> => {
  if (url !== undefined) throw new CliError(EXIT.usage, '--tools works only on this machine, without --url')
  const one = await theRunning(config, pid)
  const { tools: all } = JSON.parse(await askRunning(one, `/v1/tools?limit=${MOST}`)) as ToolsView
  const tools = all
    .filter(({ calls }) => calls > 0)
    .map(({ name, server, calls, errors, p50Ms, p99Ms }) => ({ name, server, calls, errors, p50Ms, p99Ms }))
    .sort((a, b) => b.calls - a.calls)
  if (json === true) print(JSON.stringify({ version: 1, tools }, null, 2))
  else if (tools.length === 0) printToStderr('mcp-proxy: no tool has been called yet')
  else print(tableText(HEADINGS, tools.map(rowOf), stdoutLayout()))
  return EXIT.ok
}

type Row = Pick<ToolsView['tools'][number], 'name' | 'server' | 'calls' | 'errors' | 'p50Ms' | 'p99Ms'>

const rowOf = ({ name, server, calls, errors, p50Ms, p99Ms }: Row): string[] => [
  ...[name, server, String(calls), String(errors), shownMs(p50Ms), shownMs(p99Ms)],
]

const shownMs = (ms: number | undefined): string =>
  ms === undefined ? '-' : ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`
