import type { Meter } from '../../../metering/meter.js'
import type { Counter, Histogram } from '../../../metering/series.js'
import { failureOf, isFine } from '../../../model/failure.js'
import type { Outcome } from '../../../model/outcome.js'

/** How a call of a tool ended. */
type ToolOutcome = 'ok' | 'tool_error' | 'error' | 'fault' | 'cancelled'

/** The series of one method, by how its requests ended; made as they are needed. */
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

/** What is counted of requests of one kind at one server. */
export interface TallyOptions {
  readonly meter: Meter
  readonly server: string
  readonly method: string
  /** The server's own name of what is called, if that is a tool. */
  readonly tool: string | undefined
  /** Its requests, as their clients see them and at the server. */
  readonly calls: Operations
  readonly requests: Operations
}

/** All series of requests of one kind at one server, so that they are looked up once for a call. */
export class Tally {
  readonly server: string
  readonly method: string
  readonly tool: string | undefined
  readonly calls: Operations
  readonly requests: Operations
  readonly sent: Counter
  readonly received: Counter
  readonly #meter: Meter
  #ok: ToolSeries | undefined
  readonly #others: Partial<Record<ToolOutcome, ToolSeries>> = {}

  constructor({ meter, server, method, tool, calls, requests }: TallyOptions) {
    this.server = server
    this.method = method
    this.tool = tool
    this.calls = calls
    this.requests = requests
    this.sent = meter.counter('mcp_proxy_bytes', server, 'sent')
    this.received = meter.counter('mcp_proxy_bytes', server, 'received')
    this.#meter = meter
  }

  /** Counts a call of a tool that is over; a round of questions is no end of it. */
  toolCalled(outcome: Outcome | undefined, seconds: number): void {
    const series = this.#seriesOf(outcome)
    series?.calls.add()
    series?.seconds.add(seconds)
  }

  #seriesOf(outcome: Outcome | undefined): ToolSeries | undefined {
    const how = toolOutcome(outcome)
    if (how === undefined) return undefined
    if (how === 'ok') {
      this.#ok ??= this.#create(how)
      return this.#ok
    }
    this.#others[how] ??= this.#create(how)
    return this.#others[how]
  }

  #create(how: ToolOutcome): ToolSeries {
    const labels = [this.server, this.tool ?? '', how]
    return {
      calls: this.#meter.counter('mcp_proxy_tool_calls', ...labels),
      seconds: this.#meter.counter('mcp_proxy_tool_call_seconds', ...labels),
    }
  }
}

/** Undefined: it goes on. */
const toolOutcome = (outcome: Outcome | undefined): ToolOutcome | undefined => {
  switch (outcome?.kind) {
    case undefined:
      return 'cancelled'
    case 'result':
      return outcome.isError === true ? 'tool_error' : 'ok'
    case 'error':
    case 'fault':
      return outcome.kind
    case 'input':
    case 'task':
      return undefined
  }
}
