import type { CounterName, Meter } from '../../../metering/meter.js'
import type { Counter, Histogram } from '../../../metering/series.js'
import { type Failure, failureOf, isFine } from '../../../model/failure.js'
import type { Outcome } from '../../../model/outcome.js'

const NO_FAILURE: Failure = { type: '', code: '' }

/** What is kept for each way in which requests of one kind end; made as it is needed. */
export class ByOutcome<T> {
  readonly #side: 'client' | 'server'
  readonly #make: (outcome: Outcome | undefined, failure: Failure) => T
  #ok: T | undefined
  readonly #others = new Map<string, T>()

  constructor(side: 'client' | 'server', make: (outcome: Outcome | undefined, failure: Failure) => T) {
    this.#side = side
    this.#make = make
  }

  of(outcome: Outcome | undefined): T {
    if (outcome?.kind === 'result' && outcome.isError !== true) {
      this.#ok ??= this.#make(outcome, NO_FAILURE)
      return this.#ok
    }
    const failure = outcome !== undefined && isFine(outcome) ? NO_FAILURE : failureOf(outcome, this.#side)
    return known(this.#others, `${wordOf(outcome)} ${failure.code}`, () => this.#make(outcome, failure))
  }
}

/** How a call ended, and where such calls are counted: the same object for all that are alike. */
export interface CallEnd {
  readonly server: string | undefined
  readonly method: string
  /** The server's own name of what was called. */
  readonly name: string | undefined
  /** `ok`, `tool_error`, `input_required`, `cancelled`, the code of an error, or the word of a fault. */
  readonly outcome: string
  readonly errorId?: string | undefined
  /** The id of its trace, if it was sampled. */
  readonly trace?: string | undefined
  readonly durations: Histogram
  /** Of a tool, unless it goes on. */
  readonly calls: Counter | undefined
  readonly seconds: Counter | undefined
}

/** The same of a request to a server. */
export interface RequestEnd {
  readonly trace?: string | undefined
  readonly durations: Histogram
  readonly sent: Counter
  readonly received: Counter
}

export interface TallyOptions {
  readonly meter: Meter
  /** Undefined for calls that no server is asked about. */
  readonly server: string | undefined
  readonly method: string
  /** The same as it is counted. */
  readonly label: string
  /** The server's own name of what is called, if that is a tool. */
  readonly tool: string | undefined
  /** Whether it has a histogram of its own. */
  readonly hasHistogram: boolean
}

/** Calls of one kind and the requests for them: all that counts one is looked up once. */
export class Tally {
  readonly server: string | undefined
  readonly method: string
  readonly tool: string | undefined
  readonly calls: ByOutcome<CallEnd>
  readonly requests: ByOutcome<RequestEnd>

  constructor({ meter, server, method, label, tool, hasHistogram }: TallyOptions) {
    this.server = server
    this.method = method
    this.tool = tool
    this.calls = new ByOutcome('server', (outcome, { type, code }) => {
      const word = wordOf(outcome)
      const how = outcome?.kind === 'fault' ? 'fault' : word
      const goesOn = outcome?.kind === 'input' || outcome?.kind === 'task'
      const count = (family: CounterName): Counter | undefined =>
        tool === undefined || goesOn ? undefined : meter.counter(family, server ?? '', tool, how)
      return {
        ...{ server, method, name: tool, outcome: word, errorId: undefined, trace: undefined },
        durations: meter.histogram('mcp_server_operation_duration_seconds', label, type, code),
        calls: count('mcp_proxy_tool_calls'),
        seconds: count('mcp_proxy_tool_call_seconds'),
      }
    })
    this.requests = new ByOutcome('client', (_, { type, code }) => {
      const labels = [server ?? '', label, type, code, (hasHistogram && tool) || '']
      return {
        trace: undefined,
        durations: meter.histogram('mcp_client_operation_duration_seconds', ...labels),
        sent: meter.counter('mcp_proxy_bytes', server ?? '', 'sent'),
        received: meter.counter('mcp_proxy_bytes', server ?? '', 'received'),
      }
    })
  }
}

/** How a call ended, in a word. */
export const wordOf = (outcome: Outcome | undefined): string => {
  switch (outcome?.kind) {
    case undefined:
      return 'cancelled'
    case 'result':
      return outcome.isError === true ? 'tool_error' : 'ok'
    case 'input':
      return 'input_required'
    case 'task':
      return 'task'
    case 'error':
      return 'error'
    case 'fault':
      return outcome.fault.code
  }
}

/** What stands under a key, made if nothing does yet. */
export const known = <T>(all: Map<string, T>, key: string, make: () => T): T => {
  const found = all.get(key)
  if (found !== undefined) return found
  const made = make()
  all.set(key, made)
  return made
}
