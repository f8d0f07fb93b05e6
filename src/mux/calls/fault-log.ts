import { onErrorReported } from '../../kernel/error-ids.js'
import type { Fault, FaultCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Outcome } from '../../model/outcome.js'
import { callFactsOf } from './call-facts.js'
import { type CallRecord, type Interceptor, NEXT } from './call-record.js'

/** Maximum number of errors kept, and their maximum total length in characters. */
const MOST = 1000
const MOST_CHARS = 1024 * 1024
const CAUSES = 5

/** An error of the proxy that a client received; its message is masked. */
export interface KeptError {
  readonly id: string
  readonly at: string
  /** The JSON-RPC error code. */
  readonly code: number
  readonly message: string
  /** Undefined if no fault caused it. */
  readonly fault?: FaultCode | undefined
  /** This and the members below are undefined without a call. */
  readonly method?: string | undefined
  readonly server?: string | undefined
  /** The server's own name of the called item; the client's name if no server was found. */
  readonly name?: string | undefined
  readonly client?: number | undefined
  /** The number of the call. */
  readonly call?: number | undefined
  /** Trace id, if the call was sampled. */
  readonly trace?: string | undefined
  readonly ms?: number | undefined
  /** Time that it waited or spent at its server. */
  readonly awayMs?: number | undefined
  /** The rule that refused the call, and its tests that matched. */
  readonly rule?: string | undefined
  readonly tests?: readonly string[] | undefined
  /** The server's state at that time. */
  readonly state?: string | undefined
  readonly stderr?: readonly string[] | undefined
  readonly causes?: readonly string[] | undefined
}

export interface FaultLogOptions {
  readonly log: Logger
  readonly nowMs: () => number
  readonly stateOf: (server: string) => string | undefined
}

/** Keeps the last errors that clients received, for lookup by id. */
export class FaultLog {
  readonly #options: FaultLogOptions
  readonly #kept = new Map<string, KeptError>()
  readonly #stop: () => void
  #chars = 0

  constructor(options: FaultLogOptions) {
    this.#options = options
    this.#stop = onErrorReported(({ id, code, message, fault }) =>
      this.#keep({ id, at: new Date().toISOString(), code, message, fault }),
    )
  }

  get interceptors(): readonly Interceptor[] {
    const run: Interceptor['run'] = (record, outcome) => {
      this.over(outcome, record)
      return NEXT
    }
    return [{ name: 'fault log', stage: 'settled', seesAnswered: true, onlyFaults: true, run }]
  }

  /** Oldest first. */
  get all(): readonly KeptError[] {
    return [...this.#kept.values()]
  }

  of(id: string): KeptError | undefined {
    return this.#kept.get(id)
  }

  /** Returns the last error about a server. */
  lastOf(server: string): KeptError | undefined {
    return this.all.findLast(kept => kept.server === server)
  }

  /** Adds the data of a finished call to its error. */
  over(outcome: Outcome | undefined, call: CallRecord): void {
    if (outcome?.kind !== 'fault' || outcome.errorId === undefined) return
    const known = this.#kept.get(outcome.errorId)
    if (known === undefined) return
    const { fault } = outcome
    const { servedBy: server = serverIn(fault), awayMs, decision } = call
    const refused = fault.code === 'refused' && decision && { rule: decision.rule, tests: decision.tests }
    const { trace_id, span_id, session, ...facts } = { ...callFactsOf(call, this.#options.nowMs()), server }
    const found: KeptError = {
      ...known,
      ...facts,
      ...refused,
      fault: fault.code,
      trace: trace_id,
      awayMs: awayMs === undefined ? undefined : Math.round(awayMs),
      state: server && this.#options.stateOf(server),
      stderr: stderrOf(fault),
      causes: causesOf(fault),
    }
    this.#keep(found)
    const told = { errorId: found.id, ...facts, session, trace_id, span_id, why: fault.message }
    this.#options.log.info(told, 'sent a fault to a client')
  }

  close(): void {
    this.#stop()
  }

  #keep(error: KeptError): void {
    this.#chars += sizeOf(error) - (this.#drop(error.id) ?? 0)
    this.#kept.set(error.id, error)
    for (const id of this.#kept.keys()) {
      if (this.#kept.size <= MOST && this.#chars <= MOST_CHARS) break
      this.#chars -= this.#drop(id) ?? 0
    }
  }

  #drop(id: string): number | undefined {
    const known = this.#kept.get(id)
    this.#kept.delete(id)
    return known && sizeOf(known)
  }
}

/** Returns the server that a fault names, when no call reached it. */
const serverIn = ({ data }: Fault): string | undefined => {
  const named = data?.['server']
  return typeof named === 'string' ? named : undefined
}

/** Approximate size in characters. */
const sizeOf = ({
  message,
  stderr = [],
  causes = [],
  tests = [],
  name = '',
  method = '',
}: KeptError): number =>
  256 + [message, name, method, ...stderr, ...causes, ...tests].reduce((sum, { length }) => sum + length, 0)

const stderrOf = ({ stderrTail, data, cause }: Fault): readonly string[] | undefined => {
  if (stderrTail !== undefined) return stderrTail
  const said = data?.['stderr']
  if (Array.isArray(said)) return said.map(line => sanitizeLine(String(line)))
  return cause instanceof Error && 'stderrTail' in cause ? stderrOf(cause as Fault) : undefined
}

const causesOf = (fault: Fault): readonly string[] => {
  const causes: string[] = []
  for (let { cause }: Error = fault; cause instanceof Error && causes.length < CAUSES; { cause } = cause)
    causes.push(sanitizeLine(cause.message))
  return causes
}
