import { setTimeout as delay } from 'node:timers/promises'
import { eventsOf } from './clients.js'

const LOST_MS = 25_000
const RETRY_MS = 200
const CAPABILITIES = { elicitation: {} }

/** What became of all calls: of those that failed, `honest` were told `replica_lost`, `cut` were cut off. */
export class Outcomes {
  right = 0
  honest = 0
  cut = 0
  longestMs = 0
  /** What must not be, the first of each kind in words. */
  wrong = new Map()

  /** How often something was tried again because it was refused, by the reason. */
  retried = new Map()

  refused(status, words) {
    const why = /"reason":"(\w+)"/.exec(words)?.[1] ?? `HTTP ${status}`
    this.retried.set(why, (this.retried.get(why) ?? 0) + 1)
  }

  bad(kind, words) {
    const known = this.wrong.get(kind) ?? { count: 0, first: words }
    known.count += 1
    this.wrong.set(kind, known)
  }
}

let last = 0
const nextTag = name => {
  last += 1
  return `${name}-${last}`
}

/** A client with a session, which goes on under the same id whatever happens to replicas. */
export class ReplicatedClient {
  #url
  #name
  #outcomes
  #session
  #gone = new AbortController()

  constructor(url, name, outcomes) {
    this.#url = url
    this.#name = name
    this.#outcomes = outcomes
  }

  async open() {
    const clientInfo = { name: this.#name, version: '1' }
    const params = { protocolVersion: '2025-11-25', capabilities: CAPABILITIES, clientInfo }
    for (;;) {
      const response = await this.#post({ id: 'hello', method: 'initialize', params }).catch(() => undefined)
      await response?.text()
      this.#session = response?.headers.get('mcp-session-id') ?? undefined
      if (this.#session !== undefined) break
      await delay(RETRY_MS)
    }
    await this.#tell({ method: 'notifications/initialized' })
  }

  leave() {
    this.#gone.abort()
  }

  /** What nobody else should know. */
  get words() {
    return [this.#session, `"${this.#name}"`]
  }

  /** Calls a tool once; until it began, again and again. */
  async call(tool) {
    const tag = nextTag(this.#name)
    const beganMs = performance.now()
    const params = { name: tool, arguments: { tag }, _meta: { progressToken: tag } }
    const end = await this.#attempt({ id: tag, method: 'tools/call', params }, beganMs)
    const tookMs = performance.now() - beganMs
    this.#outcomes.longestMs = Math.max(this.#outcomes.longestMs, tookMs)
    if (end === 'right') this.#outcomes.right += 1
    else if (end === 'honest') this.#outcomes.honest += 1
    else if (end === 'cut') this.#outcomes.cut += 1
    else this.#outcomes.bad(end.kind, `${tag}: ${end.words}`)
  }

  async #attempt(request, beganMs) {
    let refused
    while (performance.now() - beganMs < LOST_MS) {
      let response
      try {
        response = await this.#post(request)
      } catch (error) {
        return this.#gone.signal.aborted || error.name !== 'TimeoutError'
          ? 'cut'
          : { kind: 'hung', words: request.id }
      }
      // Of a balancer whose connection to a replica was lost.
      if (response.status === 502) return 'cut'
      // 408: a replica that was frozen has not read it.
      if (response.status === 503 || response.status === 408) {
        refused = (await response.text()).slice(0, 300)
        this.#outcomes.refused(response.status, refused)
        await delay(RETRY_MS)
        continue
      }
      if (response.status !== 200)
        return { kind: `HTTP ${response.status}`, words: (await response.text()).slice(0, 200) }
      return await this.#read(request, response, { last: 0, id: undefined })
    }
    return { kind: 'never served', words: `${request.id}: ${refused}` }
  }

  async #read(request, response, seen) {
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    try {
      if (!isStream) return verdict(request, await response.json())
      for await (const { id, data } of eventsOf(response)) {
        if (id !== undefined) seen.id = id
        if (data === '') continue
        const message = JSON.parse(data)
        if (message.method === 'notifications/progress') this.#progressed(message, request, seen)
        else if (message.method === 'elicitation/create') this.#asked(message)
        else if (message.method === undefined) return verdict(request, message)
      }
    } catch (error) {
      if (error.name === 'TimeoutError') return { kind: 'hung', words: `${request.id} in its stream` }
    }
    return seen.id === undefined || this.#gone.signal.aborted ? 'cut' : await this.#resume(request, seen)
  }

  /** Takes up a stream that broke off, as SDK clients do. */
  async #resume(request, seen) {
    for (let tries = 0; tries < 20; tries += 1) {
      await delay(RETRY_MS)
      const headers = {
        accept: 'text/event-stream',
        'mcp-session-id': this.#session,
        'last-event-id': seen.id,
      }
      const response = await fetch(this.#url, { headers, signal: AbortSignal.timeout(LOST_MS) }).catch(
        () => undefined,
      )
      if (response?.status === 200) return await this.#read(request, response, seen)
      await response?.body?.cancel()
      if (response?.status === 404) return { kind: 'HTTP 404', words: `resuming ${request.id}` }
      if (response?.status === 400 || response?.status === 204) return 'cut'
    }
    return { kind: 'not resumed', words: request.id }
  }

  #progressed({ params }, { id }, seen) {
    const { progressToken, progress } = params
    if (progressToken !== id) this.#outcomes.bad('progress of another call', `${progressToken} at ${id}`)
    else if (progress !== seen.last + 1)
      this.#outcomes.bad('progress out of order', `${progress} after ${seen.last} at ${id}`)
    seen.last = progress
  }

  /** It may come with any request of its session. */
  #asked({ id, params }) {
    const isOurs = params.message.startsWith(`${this.#name}-`)
    if (!isOurs) this.#outcomes.bad("another one's question", `${params.message} at ${this.#name}`)
    else this.#tell({ id, result: { action: 'accept', content: { a: params.message } } })
  }

  /** Says something until it was taken. */
  async #tell(message) {
    for (let tries = 0; tries < 40; tries += 1) {
      const response = await this.#post(message).catch(() => undefined)
      await response?.body?.cancel()
      if (response !== undefined && response.status < 500) return
      await delay(RETRY_MS)
    }
    this.#outcomes.bad('an answer that nobody took', JSON.stringify(message))
  }

  #post(message) {
    return fetch(this.#url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.any([AbortSignal.timeout(LOST_MS), this.#gone.signal]),
    })
  }
}

const verdict = ({ id, params }, message) => {
  if (message.id !== id) return { kind: 'an answer to another call', words: `${message.id} at ${id}` }
  const { reason } = message.error?.data ?? {}
  if (reason === 'replica_lost') return 'honest'
  const said = message.result?.content?.[0]?.text
  if (said === params.arguments.tag) return 'right'
  return {
    kind: message.error === undefined ? 'wrong answer' : `error ${reason ?? message.error.code}`,
    words: JSON.stringify(message).slice(0, 300),
  }
}
