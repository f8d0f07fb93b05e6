import { type Caller, LOCAL, type Principal } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { KeptLines } from '../../telemetry/logs/kept-lines.js'
import type { ControlApiContext } from './context.js'
import { callsView, clientsView, configView, errorsView, serversView } from './views.js'

/** An event of a stream (HTML, "Server-sent events"). */
interface StreamEvent {
  readonly id?: string | undefined
  readonly event: string
  /** JSON text. */
  readonly data: string
}

/** Sends events until the returned function is called. Calls `end` after the last event. */
export type Stream = (send: (event: StreamEvent) => void, end: () => void) => () => void

export type ApiAnswer =
  | { readonly status: number; readonly value: object }
  /** Events until the client disconnects. */
  | { readonly stream: Stream }

/** Maximum open streams of each principal. */
const MOST = 8
/** Interval between checks for changes. */
const LOOK_MS = 500

/** Limits the open streams of each principal. */
export class Streams {
  readonly #open = new Map<Principal, number>()

  /** Throws a Fault `overloaded`. */
  admit(stream: Stream, principal: Principal): Stream {
    const open = this.#open.get(principal) ?? 0
    if (open >= MOST) throw new Fault('overloaded', `${MOST} streams are already open`)
    this.#open.set(principal, open + 1)
    let isOpen = true
    const left = (): void => {
      if (isOpen) this.#leave(principal)
      isOpen = false
    }
    return (send, end) => {
      const stop = stream(send, end)
      return () => {
        left()
        stop()
      }
    }
  }

  #leave(principal: Principal): void {
    const open = (this.#open.get(principal) ?? 1) - 1
    if (open > 0) this.#open.set(principal, open)
    else this.#open.delete(principal)
  }
}

type View = (context: ControlApiContext) => object

const VIEWS: ReadonlyMap<string, View> = new Map<string, View>([
  ['status', context => context.status()],
  ['servers', serversView],
  ['clients', clientsView],
  ['config', configView],
])

/** Values that change only with time; they are not sent as changes. */
const TIMES = /"(?:\w+Ms|rssBytes)":[\d.]+/g

/**
 * Streams the state of the views in `?view=status,servers,calls`, then their changes at most twice a second.
 * Sends finished calls and errors only once.
 */
export const eventStream = (context: ControlApiContext, query: URLSearchParams): Stream => {
  const wanted = (query.get('view') ?? 'status,servers').split(',')
  const views = wanted.flatMap(name => {
    const view = VIEWS.get(name)
    return view === undefined ? [] : [[name, view] as const]
  })
  const [hasCalls, hasErrors] = [wanted.includes('calls'), wanted.includes('errors')]
  return send => {
    const told = new Map<string, string>()
    let [n, last] = [0, 0]
    let lastError: string | undefined
    const tell = (event: string, value: object): void => {
      const data = JSON.stringify(value)
      const shape = data.replaceAll(TIMES, '')
      if (told.get(event) === shape) return
      told.set(event, shape)
      n += 1
      send({ id: String(n), event, data })
    }
    const look = (): void => {
      const status = context.status()
      for (const [name, view] of views) tell(name, view({ ...context, status: () => status }))
      if (hasErrors) {
        const { errors, ...rest } = errorsView(context, lastError)
        if (errors.length > 0 || lastError === undefined) tell('errors', { ...rest, errors })
        lastError = errors.at(-1)?.id ?? lastError
      }
      if (!hasCalls) return
      tell('calls', callsView(context, last))
      last = context.router.meter?.history.last ?? last
    }
    look()
    const timer = context.clock.every(LOOK_MS, look)
    return () => timer.cancel()
  }
}

/**
 * Streams the kept lines that match (with `tail` only the last ones), or the lines after the last one read,
 * then new lines.
 */
export const logStream = (
  lines: KeptLines,
  query: URLSearchParams,
  {
    caller = LOCAL,
    lastEventId,
  }: { readonly caller?: Caller | undefined; readonly lastEventId?: string | undefined },
): Stream => {
  const since = query.get('since')
  const tail = Number(query.get('tail') ?? 0)
  const filter = {
    server: query.get('server') ?? undefined,
    level: query.get('level') ?? undefined,
    sinceMs: since === null ? undefined : Number(since),
  }
  return send => {
    const tell = (line: string, n: number): void =>
      send({ id: String(n), event: 'line', data: line.trimEnd() })
    for (const { line, n } of lines.numbered(filter, Number(lastEventId ?? 0) || 0).slice(-tail || 0))
      tell(line, n)
    return lines.follow(filter, tell, caller.principal) ?? (() => undefined)
  }
}
