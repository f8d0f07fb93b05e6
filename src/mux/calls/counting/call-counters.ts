import type { Meter } from '../../../kernel/meter.js'
import type { Counter, Histogram } from '../../../kernel/series.js'
import { failureOf, isFine } from '../../../model/failure.js'
import type { Outcome } from '../../../model/outcome.js'

/** The outcome of a tool call. */
type ToolOutcome = 'ok' | 'tool_error' | 'error' | 'fault' | 'refused' | 'cancelled'

/** The metrics of one method, by outcome; created on demand. */
export class Operations {
  readonly #make: (errorType: string, code: string) => Histogram
  readonly #side: 'client' | 'server'
  #ok: Histogram | undefined
  readonly #failed = new Map<string, Histogram>()

  constructor(side: 'client' | 'server', make: (errorType: string, code: string) => Histogram) {
    this.#side = side
    this.#make = make
  }

  of(outcome: Outcome | undefined): Histogram {
    if (outcome !== undefined && isFine(outcome)) {
      this.#ok ??= this.#make('', '')
      return this.#ok
    }
    const { type, code } = failureOf(outcome, this.#side)
    const key = `${type} ${code}`
    let known = this.#failed.get(key)
    if (known === undefined) {
      known = this.#make(type, code)
      this.#failed.set(key, known)
    }
    return known
  }
}

interface ToolSeries {
  readonly calls: Counter
  readonly seconds: Counter
}

/** Identifies requests of one kind at one server. */
export interface CallCountersOptions {
  readonly meter: Meter
  readonly server: string
  readonly method: string
  /** The server's own name of the called tool, if any. */
  readonly tool: string | undefined
  /** Requests as clients see them, and as sent to the server. */
  readonly calls: Operations
  readonly requests: Operations
}

/** All metrics of one kind of request at one server, looked up once per call. */
export class CallCounters {
  readonly server: string
  readonly method: string
  readonly tool: string | undefined
  readonly calls: Operations
  readonly requests: Operations
  readonly sent: Counter
  readonly received: Counter
  readonly #meter: Meter
  readonly #series: Partial<Record<ToolOutcome, ToolSeries>> = {}

  constructor({ meter, server, method, tool, calls, requests }: CallCountersOptions) {
    this.server = server
    this.method = method
    this.tool = tool
    this.calls = calls
    this.requests = requests
    this.sent = meter.counter('mcp_proxy_bytes', server, 'sent')
    this.received = meter.counter('mcp_proxy_bytes', server, 'received')
    this.#meter = meter
  }

  /** Counts a finished tool call; a round of questions does not finish it. */
  toolCalled(outcome: Outcome | undefined, seconds: number): void {
    const how = toolOutcome(outcome)
    if (how === undefined) return
    this.#series[how] ??= this.#create(how)
    this.#series[how].calls.add()
    this.#series[how].seconds.add(seconds)
  }

  #create(how: ToolOutcome): ToolSeries {
    const labels = [this.server, this.tool ?? '', how]
    return {
      calls: this.#meter.counter('mcp_proxy_tool_calls', ...labels),
      seconds: this.#meter.counter('mcp_proxy_tool_call_seconds', ...labels),
    }
  }
}

/** Undefined while the call continues. */
const toolOutcome = (outcome: Outcome | undefined): ToolOutcome | undefined => {
  switch (outcome?.kind) {
    case undefined:
      return 'cancelled'
    case 'result':
      return outcome.isError === true ? 'tool_error' : 'ok'
    case 'error':
      return 'error'
    case 'fault':
      return outcome.fault.code === 'refused' ? 'refused' : 'fault'
    case 'input':
    case 'task':
      return undefined
  }
}
