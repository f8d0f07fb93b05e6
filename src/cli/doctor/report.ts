import { createColors } from 'picocolors'
import type { Counts, Gather } from '../../doctor/examine.js'
import type { Facts } from '../../doctor/facts.js'
import type { Finding } from '../../doctor/finding.js'
import { mask } from '../../kernel/secrets/mask.js'
import { count, oneLineText } from '../shared/output/output.js'
import { hasColor } from '../shared/output/terminal.js'

/** Layout of the report. */
export interface ReportLayout {
  readonly hasColor: boolean
  readonly isUnicode: boolean
}

export const reportLayout = (
  { isTTY }: { readonly isTTY: boolean },
  env: NodeJS.ProcessEnv = process.env,
): ReportLayout => ({
  hasColor: hasColor({ isTTY }, env),
  isUnicode:
    /utf-?8/i.test(env['LC_ALL'] ?? env['LC_CTYPE'] ?? env['LANG'] ?? '') || process.platform === 'win32',
})

const SIGNS = { error: ['✗', 'x'], warn: ['!', '!'], note: ['·', '-'] } as const
const LINE_CHARS = 400

const shown = (text: string): string => {
  const line = mask(oneLineText(text))
  return line.length <= LINE_CHARS ? line : `${line.slice(0, LINE_CHARS)} …`
}

/** Formats a finding in at most three lines: problem, cause, fix. */
export const findingText = (found: Finding, layout: ReportLayout): string => {
  const { id, level, message, why, fix, autoFix } = found
  const { hasColor: isColored, isUnicode } = layout
  const colors = createColors(isColored)
  const paint = { error: colors.red, warn: colors.yellow, note: colors.dim }[level]
  const sign = SIGNS[level][isUnicode ? 0 : 1]
  return [
    `${paint(`${sign} ${id}`)} ${colors.bold(shown(message))}`,
    ...(why === undefined ? [] : [`    why:  ${shown(why)}`]),
    `    fix:  ${shown(fix)}${autoFix === undefined ? '' : colors.dim('  (--fix)')}`,
  ].join('\n')
}

/** Formats the facts about this machine, which precede its problems. */
export const factsText = async (gather: Gather, copies: readonly string[]): Promise<string> => {
  const [installation, file, config, daemon, clients] = await Promise.all([
    gather('installation'),
    gather('file'),
    gather('config'),
    gather('daemon'),
    gather('clients'),
  ])
  const rows: readonly (readonly [string, string])[] = [
    ['mcp-proxy', `${installation?.version ?? '?'}, Node ${process.version.slice(1)}, ${process.platform}`],
    ['configuration', configText(file?.file ?? '', config)],
    ['daemon', daemonText(daemon)],
    ...(copies.length === 0 ? [] : [['servers', copyText(copies, daemon)] as const]),
    ['clients', clientText(clients ?? [])],
  ]
  return rows.map(([name, message]) => `${name.padEnd(15)}${shown(message)}`).join('\n')
}

const configText = (file: string, config: Facts['config'] | undefined): string => {
  if (config === undefined) return `${file} is not there`
  const { config: usable, disabled } = config.loaded
  if (usable === undefined) return `${file} cannot be used`
  const out = disabled.length + usable.waiting.length
  const off = out === 0 ? '' : ` and ${out} that are off, wait or cannot be used`
  return `${file}, ${count(usable.servers.length, 'server')}${off}`
}

const daemonText = (daemon: Facts['daemon'] | undefined): string => {
  if (daemon?.status === undefined) return daemon?.state === 'silent' ? 'does not answer' : 'does not run'
  const { pid, version } = daemon.status
  return `runs, pid ${pid}, version ${version}, ${count(daemon.sessions.length, 'client')}`
}

const copyText = (copies: readonly string[], daemon: Facts['daemon'] | undefined): string =>
  daemon?.state === 'serves'
    ? `started copies of ${copies.join(', ')}, which the daemon does not serve`
    : `started copies of ${copies.join(', ')}`

const clientText = (clients: Facts['clients']): string => {
  if (clients.length === 0) return 'none found'
  const words = clients.map(({ label, files }) => {
    const isServed = files.some(({ entries }) => entries.some(({ isOurs }) => isOurs))
    return isServed ? label : `${label} (without this proxy)`
  })
  return words.join(', ')
}

/** Formats the last line with the counts. */
export const summaryText = ({ ok, note, warn, error }: Counts, layout: ReportLayout): string => {
  const { hasColor: isColored, isUnicode } = layout
  const colors = createColors(isColored)
  const all = [
    ...(error > 0 ? [colors.red(count(error, 'error'))] : []),
    ...(warn > 0 ? [colors.yellow(count(warn, 'warning'))] : []),
    ...(note > 0 ? [count(note, 'note')] : []),
  ]
  const well = `${colors.green(isUnicode ? '✓' : 'ok')} ${count(ok, 'check')} without findings`
  return [...all, well].join(', ')
}
