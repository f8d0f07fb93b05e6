import { inspect } from 'node:util'
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
  const { code, what, why = WHYS[code], fix = fixFor(code, words) } = linesOf(thrown)
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
    return { code: EXIT.failure, what, why: 'nothing was written to it', fix }
  }
  if (!(thrown instanceof Fault)) return { code: EXIT.negative, what: inspect(thrown), why: 'this is a bug' }
  const { server, doctor } = thrown.data ?? {}
  const fix =
    thrown.code === 'unauthorized' && typeof server === 'string'
      ? `mcp-proxy auth login ${server}`
      : undefined
  const said = thrown.code === 'internal' ? inspect(thrown) : thrown.message
  const what = numbered(said, typeof doctor === 'string' ? doctor : undefined)
  return { code: EXIT.failure, what, fix }
}

const WHYS: Readonly<Partial<Record<number, string>>> = {
  [EXIT.usage]: 'invalid arguments; nothing was changed',
  [EXIT.configuration]: 'the configuration is invalid',
}

const fixFor = (code: number, words: readonly string[]): string | undefined => {
  if (code === EXIT.usage) return ['mcp-proxy', ...words, '--help'].join(' ')
  return code === EXIT.configuration ? 'mcp-proxy doctor' : undefined
}
