import { suggest } from '../../config/schema/suggest.js'
import { PROBLEM_IDS } from '../../diagnostics/causes.js'
import { cause } from '../../diagnostics/explain.js'
import type { Counts, Examined, Gather } from '../../doctor/examine.js'
import { isInteractive } from '../shared/output/ask.js'
import { print, printText, printToStderr } from '../shared/output/output.js'
import {
  CliError,
  causeError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  textOption,
  type VerbArguments,
} from '../shared/verb.js'

const flags = {
  config: configOption,
  fix: {
    type: 'boolean',
    describe: 'Apply the available fixes; shows each change and asks first',
  },
  yes: { type: 'boolean', describe: 'With --fix: do not ask' },
  json: jsonOption,
  offline: {
    type: 'boolean',
    describe: 'Start no servers and make no requests; takes less than half a second',
  },
  only: textOption('Only these checks, separated by commas; D03 selects all that begin with it'),
  server: textOption('Only this server'),
  strict: { type: 'boolean', describe: 'Count warnings as errors' },
  timeout: textOption('How long each server may take, such as 30s'),
} as const

type Args = VerbArguments<typeof flags>

export const doctor = defineVerb({
  usage: 'doctor',
  describe:
    'Find problems with this machine, the configuration, servers and clients, and print the fix for each',
  flags,
  examples: [
    ['mcp-proxy doctor', 'Runs all checks; starts the servers that no daemon runs'],
    ['mcp-proxy doctor --fix', 'Also applies the available fixes, after asking'],
    ['mcp-proxy doctor --offline --strict --json | jq .ok', 'Tests the configuration in CI'],
  ],
  async run(args) {
    const wish = readWish(args)
    try {
      return await diagnose(args, wish)
    } catch (thrown) {
      if (thrown instanceof CliError) throw thrown
      const why = thrown instanceof Error ? thrown.message : String(thrown)
      throw causeError(EXIT.failure, cause('cli.doctor', { why }))
    }
  },
})

interface Wish {
  readonly only: readonly string[]
  readonly timeoutMs: number
}

const TIMEOUT_MS = 30_000

/** Throws a CliError. */
const readWish = ({ only = '', timeout, fix, yes }: Args): Wish => {
  const starts = only
    .split(',')
    .map(each => each.trim().toUpperCase())
    .filter(each => each !== '')
  const unknown = starts.find(start => !PROBLEM_IDS.some(id => id.startsWith(start)))
  if (unknown !== undefined) {
    const meant = suggest(unknown, PROBLEM_IDS)
    const fix = meant === undefined ? 'docs/doctor.md lists all' : `did you mean ${meant}?`
    throw new CliError(EXIT.usage, `no check has the number ${unknown}`, { fix })
  }
  if (fix === true && yes !== true && !isInteractive())
    throw causeError(EXIT.usage, cause('cli.fix-without-yes', {}))
  return { only: starts, timeoutMs: timeout === undefined ? TIMEOUT_MS : spanMs(timeout) }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

const spanMs = (text: string): number => {
  const [, number = '', unit = ''] = /^(\d+)(ms|s|m)$/.exec(text) ?? []
  const ms = Number(number) * (UNITS[unit] ?? 0)
  if (ms > 0) return ms
  throw new CliError(EXIT.usage, `--timeout must be a time such as 30s, not "${text}"`)
}

/** Delay before progress is shown. */
const QUIET_MS = 500

const diagnose = async (args: Args, { only, timeoutMs }: Wish): Promise<number> => {
  const [{ examine, gatherOnce }, { sourcesOf }] = await Promise.all([
    import('../../doctor/examine.js'),
    import('./sources.js'),
  ])
  const { config, server, offline: isOffline = false } = args
  const examineAt = async (starts: readonly string[]): Promise<Examination> => {
    let copies: readonly string[] = []
    const onCopies = (names: readonly string[]): void => {
      copies = names
    }
    const gather = gatherOnce(sourcesOf({ config, server, isOffline, timeoutMs, onCopies }))
    await checkServer(server, gather)
    const all = await examine(gather, { only: starts, server, isOffline })
    return { gather, all, copies }
  }
  const timer = setTimeout(printProgress, QUIET_MS)
  const first = await examineAt(only).finally(() => clearTimeout(timer))
  if (args.fix !== true) return await report(args, first)
  if (args.json !== true) await report(args, first)
  const { fixAll } = await import('./fix.js')
  const file = (await first.gather('file'))?.file ?? ''
  const isAsking = args.yes !== true
  const isJson = args.json === true
  const fixed = await fixAll(first.all, { config, file, isAsking, isJson, gather: first.gather })
  if (fixed.length === 0) return args.json === true ? await report(args, first) : await codeOf(args, first)
  const again = await examineAt(fixed)
  const all = first.all.map(each => again.all.find(({ id }) => id === each.id) ?? each)
  return await report(args, { ...again, all })
}

interface Examination {
  readonly gather: Gather
  readonly all: readonly Examined[]
  /** Servers whose copies were started. */
  readonly copies: readonly string[]
}

const printProgress = (): void => {
  if (process.stderr.isTTY) printToStderr('examining each server; --offline skips this')
}

/** Throws a CliError for an unknown server. */
const checkServer = async (server: string | undefined, gather: Gather): Promise<void> => {
  const names = [...((await gather('config'))?.entries.keys() ?? [])]
  if (server === undefined || names.length === 0 || names.includes(server)) return
  const meant = suggest(server, names)
  const fix = meant === undefined ? `servers are ${names.join(', ')}` : `did you mean ${meant}?`
  throw new CliError(EXIT.usage, `there is no server "${server}"`, { fix })
}

/** Prints the report and resolves with the exit code. */
const report = async (args: Args, examination: Examination): Promise<number> => {
  const { countsOf, documentOf, worstFirst } = await import('../../doctor/examine.js')
  const code = await codeOf(args, examination)
  const { gather, all, copies } = examination
  if (args.json === true) {
    const { maskJson } = await import('../../kernel/secrets/mask.js')
    print(maskJson(JSON.stringify(documentOf(all, code === EXIT.ok, copies), null, 2)))
    return code
  }
  const { factsText, findingText, reportLayout, summaryText } = await import('./report.js')
  const layout = reportLayout(process.stdout)
  const findings = worstFirst(all).map(found => findingText(found, layout))
  printText([await factsText(gather, copies), ...findings, summaryText(countsOf(all), layout)].join('\n\n'))
  return code
}

const codeOf = async ({ strict }: Args, { all, gather }: Examination): Promise<number> => {
  const { countsOf } = await import('../../doctor/examine.js')
  const isExamined = all.some(({ id }) => id === 'D010' || id === 'D011')
  if (isExamined && (await gather('config'))?.loaded.config === undefined) return EXIT.configuration
  return isWell(countsOf(all), strict === true) ? EXIT.ok : EXIT.negative
}

const isWell = ({ error, warn }: Counts, isStrict: boolean): boolean => error === 0 && !(isStrict && warn > 0)
