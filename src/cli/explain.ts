import { inspect } from 'node:util'
import { cause, type Explained, explain } from '../diagnostics/explain.js'
import { Fault } from '../kernel/faults.js'
import { SetupError } from '../setup/setup-error.js'
import { numbered, printToStderr } from './shared/output/output.js'
import { CliError, EXIT } from './shared/verb.js'

interface Lines {
  readonly code: number
  readonly what: string
  readonly why?: string | undefined
  readonly fix?: string | undefined
}

/** Prints an error to stderr in up to three lines and returns the exit code. */
export const explainError = (thrown: unknown, words: readonly string[]): number => {
  const { code, what, ...own } = linesOf(thrown)
  const usual = defaultsOf(code, words)
  const { why = usual?.why, fix = usual?.fix } = own
  printToStderr(`mcp-proxy: ${what}`)
  if (why !== undefined) printToStderr(`  why: ${why}`)
  if (fix !== undefined) printToStderr(`  fix: ${fix}`)
  return code
}

const linesOf = (thrown: unknown): Lines => {
  if (thrown instanceof CliError) {
    const { code, message: what, why, fix } = thrown
    return { code, what, why, fix }
  }
  if (thrown instanceof SetupError) {
    const { message: what, fix } = thrown
    return { code: EXIT.failure, what, why: explain(cause('cli.file', { what })).why, fix }
  }
  if (!(thrown instanceof Fault)) {
    const what = inspect(thrown)
    return { code: EXIT.negative, what, why: explain(cause('cli.bug', { what })).why }
  }
  const { server, doctor } = thrown.data ?? {}
  const fix =
    thrown.code === 'unauthorized' && typeof server === 'string'
      ? explain(cause('D036', { server }, server)).fix
      : undefined
  const said = thrown.code === 'internal' ? inspect(thrown) : thrown.message
  const what = numbered(said, typeof doctor === 'string' ? doctor : undefined)
  return { code: EXIT.failure, what, fix }
}

/** Returns the default reason and fix for an exit code. */
const defaultsOf = (code: number, words: readonly string[]): Explained | undefined => {
  if (code === EXIT.usage)
    return explain(cause('cli.usage', { what: '', command: ['mcp-proxy', ...words].join(' ') }))
  return code === EXIT.configuration ? explain(cause('cli.configuration', { what: '' })) : undefined
}
