import { once } from 'node:events'
import { WebSocket } from 'ws'

const LOST_MS = 45_000
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: { elicitation: {} },
  clientInfo: { name: 'soak', version: '1' },
}

/** What became of all requests: each must have exactly one answer. */
export class Ledger {
  asked = 0
  answered = 0
  errors = 0
  abandoned = 0
  wrong = []
  /** The servers that did something for somebody. */
  served = new Set()
  lost = []
  doubled = []

  note(list, text) {
    if (list.length < 20) list.push(text)
  }
}

let ids = 0
const nextId = () => {
  ids += 1
  return `s${ids}`
}

/** A request that was made, until its answer came or its client left. */
class Open {
  #ledger
  #name
  #timer
  #isOver = false
  constructor(ledger, name) {
    this.#ledger = ledger
    this.#name = name
    ledger.asked += 1
    this.answer = new Promise(resolve => {
      this.settle = resolve
    })
    this.#timer = setTimeout(() => {
      ledger.note(ledger.lost, name)
      this.settle(undefined)
    }, LOST_MS)
  }
  answered(message) {
    if (!this.#end()) return
    this.#ledger.answered += 1
    if (message.error !== undefined) this.#ledger.errors += 1
    this.settle(message)
  }
  abandoned() {
    if (!this.#end()) return
    this.#ledger.abandoned += 1
    this.settle(undefined)
  }
  failed(why) {
    if (!this.#end()) return
    this.#ledger.note(this.#ledger.lost, `${this.#name}: ${why}`)
    this.settle(undefined)
  }

  /** Whether this is its first end. */
  #end() {
    if (this.#isOver) return false
    this.#isOver = true
    clearTimeout(this.#timer)
    return true
  }
}

/** Events of a response. */
export async function* eventsOf(response) {
  let rest = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split('\n\n')
    rest = parts.pop() ?? ''
    for (const part of parts) {
      const lines = part.split('\n')
      const fields = name =>
        lines.filter(line => line.startsWith(`${name}:`)).map(line => line.slice(name.length + 1).trim())
      yield { id: fields('id')[0], event: fields('event')[0], data: fields('data').join('\n') }
    }
  }
}

/** Events of a response as messages. */
async function* messagesOf(response) {
  for await (const { event, data } of eventsOf(response))
    if (event === 'endpoint') yield { endpoint: data }
    else if (data !== '') yield JSON.parse(data)
}

const POST_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A client over Streamable HTTP: with a session, or of revision 2026-07-28, without. */
export class HttpClient {
  #url
  #ledger
  #era
  #abort = new AbortController()
  #isGone = false
  session

  constructor(url, ledger, era = 'legacy') {
    this.#url = url
    this.#ledger = ledger
    this.#era = era
  }

  async open() {
    if (this.#era === 'modern') return
    await this.request('initialize', HELLO).answer
    await this.notify('notifications/initialized')
  }

  /** Its stream for what belongs to no request. */
  async listen() {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': this.session ?? '' }
    const response = await fetch(this.#url, { headers, signal: this.#abort.signal })
    const read = async () => {
      for await (const message of messagesOf(response)) this.#hear(message)
    }
    read().catch(() => undefined)
  }

  request(method, params = {}) {
    const open = new Open(this.#ledger, method)
    open.id = nextId()
    this.#send({ id: open.id, method, params }, open)
    return open
  }

  notify(method, params) {
    return this.#post({ method, ...(params && { params }) }).then(response => response.body?.cancel())
  }

  /** Leaves without a word. */
  vanish() {
    this.#isGone = true
    this.#abort.abort()
  }

  async close() {
    if (this.#era === 'legacy' && this.session !== undefined) {
      const headers = { 'mcp-session-id': this.session }
      await fetch(this.#url, { method: 'DELETE', headers }).catch(() => undefined)
    }
    this.vanish()
  }

  async #send(message, open) {
    let answers = 0
    try {
      const response = await this.#post(message)
      this.session ??= response.headers.get('mcp-session-id') ?? undefined
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
      for await (const heard of isStream ? messagesOf(response) : [await response.json()]) {
        if (heard.method !== undefined) this.#hear(heard)
        else if (heard.id !== message.id) this.#ledger.note(this.#ledger.wrong, `an answer to ${heard.id}`)
        else {
          answers += 1
          if (answers === 1) open.answered(heard)
          else this.#ledger.note(this.#ledger.doubled, message.method)
        }
      }
      if (answers === 0) this.#end(open, 'its stream ended')
    } catch (error) {
      if (answers === 0) this.#end(open, `${error.message} ${error.cause?.message ?? ''}`)
    }
  }

  #end(open, why) {
    if (this.#isGone || open.isCancelled) open.abandoned()
    else open.failed(why)
  }

  #hear({ id, method }) {
    if (id === undefined || method === undefined) return
    const result = { action: 'accept', content: {} }
    this.#post({ id, result }).then(
      response => response.body?.cancel(),
      () => undefined,
    )
  }

  #post(message) {
    const { method, params } = message
    const isModern = this.#era === 'modern'
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': HELLO.clientInfo,
    }
    const body = isModern
      ? { ...message, params: { ...params, _meta: { ...params?._meta, ...meta } } }
      : message
    const name = params?.name ?? params?.uri
    const headers = isModern
      ? { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...(name && { 'mcp-name': name }) }
      : this.session && { 'mcp-session-id': this.session }
    return fetch(this.#url, {
      method: 'POST',
      headers: { ...POST_HEADERS, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      signal: this.#abort.signal,
    })
  }
}

/**
 * A client on a channel of its own: `connect` resolves with how to send and to close, and is told what to do
 * with what comes.
 */
export class PipeClient {
  #ledger
  #connect
  #open = new Map()
  #channel
  #isGone = false

  constructor(connect, ledger) {
    this.#connect = connect
    this.#ledger = ledger
  }

  async open() {
    this.#channel = await this.#connect({
      heard: message => this.#hear(message),
      ended: () => this.#ended(),
    })
    await this.request('initialize', HELLO).answer
    await this.notify('notifications/initialized')
  }

  listen() {
    return Promise.resolve()
  }

  request(method, params = {}) {
    const open = new Open(this.#ledger, method)
    open.id = nextId()
    this.#open.set(open.id, open)
    this.#send({ id: open.id, method, params })
    return open
  }

  notify(method, params) {
    this.#send({ method, ...(params && { params }) })
    return Promise.resolve()
  }

  vanish() {
    this.#isGone = true
    this.#channel?.close()
    this.#ended()
  }

  close() {
    this.vanish()
    return Promise.resolve()
  }

  #send(message) {
    this.#channel.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  #hear(message) {
    if (message.method !== undefined) {
      if (message.id !== undefined) this.#send({ id: message.id, result: { action: 'accept', content: {} } })
      return
    }
    const open = this.#open.get(message.id)
    this.#open.delete(message.id)
    if (open !== undefined) open.answered(message)
    else this.#ledger.note(this.#ledger.doubled, `an answer to ${message.id}`)
  }

  #ended() {
    for (const open of this.#open.values()) {
      if (this.#isGone || open.isCancelled) open.abandoned()
      else open.failed('the connection ended')
    }
    this.#open.clear()
  }
}

/** A WebSocket for `PipeClient`. */
export const webSocket = url => async on => {
  const ws = new WebSocket(new URL('/ws', url).href.replace('http', 'ws'), 'mcp')
  ws.on('error', () => undefined)
  ws.on('message', data => on.heard(JSON.parse(String(data))))
  ws.on('close', on.ended)
  await once(ws, 'open')
  return { send: text => ws.readyState === WebSocket.OPEN && ws.send(text), close: () => ws.terminate() }
}

/** HTTP+SSE for `PipeClient`. */
export const eventStream = url => async on => {
  const abort = new AbortController()
  const { signal } = abort
  const response = await fetch(new URL('/sse', url), { headers: { accept: 'text/event-stream' }, signal })
  const found = new Promise((resolve, reject) => {
    const read = async () => {
      for await (const message of messagesOf(response)) {
        if (message.endpoint === undefined) on.heard(message)
        else resolve(new URL(message.endpoint, url))
      }
    }
    read()
      .catch(reject)
      .finally(() => on.ended())
  })
  const endpoint = await found
  const send = body => {
    fetch(endpoint, { method: 'POST', headers: POST_HEADERS, body, signal })
      .then(answer => answer.body?.cancel())
      .catch(() => undefined)
  }
  return { send, close: () => abort.abort() }
}
