import type { Caller } from '../../kernel/caller.js'
import { isObject } from '../../kernel/object.js'
import type { ControlApiContext } from './context.js'
import type { ApiAnswer, Stream } from './streams.js'

/** Returns the servers that are hidden from a caller (`access.see`). */
export const hiddenFrom = ({ router }: ControlApiContext, caller: Caller): ReadonlySet<string> => {
  if (caller.scopes === undefined) return new Set()
  const views = [...router.catalog.views.values()].filter(view => !view.isVisibleTo(caller))
  return new Set(views.map(({ server }) => server.name))
}

/** Removes hidden servers from an answer. */
export const withoutServers = (answer: ApiAnswer, hidden: ReadonlySet<string>): ApiAnswer => {
  if (hidden.size === 0) return answer
  if ('stream' in answer) return { stream: streamWithout(answer.stream, hidden) }
  const value = without(answer.value, hidden)
  return isObject(value) ? { status: answer.status, value } : { status: 400, value: UNKNOWN }
}

const UNKNOWN = { error: 'unknown name' }

const streamWithout =
  (stream: Stream, hidden: ReadonlySet<string>): Stream =>
  (send, end) =>
    stream(event => {
      const value = without(parsed(event.data), hidden)
      if (value !== undefined) send({ ...event, data: JSON.stringify(value) })
    }, end)

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Removes objects about hidden servers from a value. Returns undefined if the value itself is about one. */
const without = (value: unknown, hidden: ReadonlySet<string>, isServer = false): unknown => {
  if (typeof value === 'string') return isServer && hidden.has(value) ? undefined : value
  if (Array.isArray(value))
    return value.flatMap(each => {
      const left = without(each, hidden, isServer)
      return left === undefined ? [] : [left]
    })
  if (!isObject(value)) return value
  const name = value['server'] ?? (isServer ? value['name'] : undefined)
  if (typeof name === 'string' && hidden.has(name)) return undefined
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, without(each, hidden, key === 'servers')]),
  )
}
