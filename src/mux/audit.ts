import { createHash } from 'node:crypto'
import type { Clock } from '../kernel/clock.js'
import { at, type JsonText, memberOf, stringOf } from '../kernel/json-text.js'
import { RPC_CODES } from '../model/fault-table.js'
import type { Call, Client, Reception } from '../model/links.js'
import type { Outcome } from '../model/outcome.js'
import { watch, withCall } from './around.js'

/** Where the lines go, and what stands in them. */
export interface AuditOptions {
  /** Takes one line without its end. */
  readonly write: (line: string) => void
  readonly clock: Clock
  /** The time of day. */
  readonly now: () => Date
  /** Whether the arguments of tools and prompts are written too: they may hold anything. */
  readonly withArguments: boolean
}

/** Where requests say what they are about. */
const NAMES = [['name'], ['uri'], ['ref', 'name'], ['ref', 'uri']] as const
const NAME_CHARS = 512
const HASH_CHARS = 16

/** A reception that writes one line about each call once it is over: who, what, where, how it ended, how long, how large. */
export const audited = (behind: Reception, options: AuditOptions): Reception =>
  withCall(behind, call => {
    const startedMs = options.clock.nowMs()
    const time = options.now().toISOString()
    watch(call, outcome => {
      const durationMs = Math.round((options.clock.nowMs() - startedMs) * 10) / 10
      const entry = {
        audit: 'call',
        time,
        principal: call.client.principal,
        session: sessionOf(call.client),
        method: call.method.slice(0, NAME_CHARS),
        name: nameOf(call),
        server: call.servedBy,
        ...endOf(outcome),
        durationMs,
        bytesIn: call.params?.length ?? 0,
        bytesOut: bytesOf(outcome),
      }
      const line = JSON.stringify(entry)
      const args = options.withArguments && call.params && memberOf(call.params, 'arguments')
      options.write(args ? `${line.slice(0, -1)},"arguments":${oneLine(args)}}` : line)
    })
    behind.call(call)
  })

/** Lines of one session can be found by its id, but its id cannot be found in them. */
const sessionOf = ({ id, sessionId }: Client): string =>
  sessionId === undefined
    ? `client-${id}`
    : createHash('sha256').update(sessionId).digest('base64url').slice(0, HASH_CHARS)

const nameOf = ({ params }: Call): string | undefined => {
  if (params === undefined) return undefined
  for (const path of NAMES) {
    const name = stringOf(at(params, ...path))
    if (name !== undefined) return name.slice(0, NAME_CHARS)
  }
  return undefined
}

const endOf = (outcome: Outcome | undefined): { readonly outcome: string; readonly code?: number } => {
  switch (outcome?.kind) {
    case undefined:
      return { outcome: 'cancelled' }
    case 'result': {
      const isError = memberOf(outcome.result, 'isError')?.toString('latin1') === 'true'
      return { outcome: isError ? 'tool-error' : 'ok' }
    }
    case 'input':
      return { outcome: 'input-required' }
    case 'task':
      return { outcome: 'task' }
    case 'error':
      return { outcome: 'error', code: Number(memberOf(outcome.error, 'code')?.toString('latin1')) }
    case 'fault':
      return { outcome: outcome.fault.code, code: RPC_CODES[outcome.fault.code] }
  }
}

const bytesOf = (outcome: Outcome | undefined): number => {
  if (outcome === undefined || outcome.kind === 'fault') return 0
  return (outcome.kind === 'error' ? outcome.error : outcome.result).length
}

/** Line breaks can only stand between the parts of JSON, where a space means the same. */
const oneLine = (json: JsonText): string => json.toString('utf8').replace(/[\r\n]+/g, ' ')
