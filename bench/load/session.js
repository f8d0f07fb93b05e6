// One client, independent of its transport. Verifies each answer by its id and by an echoed tag.

const HEAD_BYTES = 400
const TAIL_BYTES = 200

/**
 * Kinds of faults; all zero in a valid run. `lost` counts answers, `missing` counts answers that preceded
 * some of their notifications, and `late` counts notifications after their answer.
 */
export const FAULTS = ['wrong', 'doubled', 'lost', 'missing', 'late', 'unordered']
export const noFaults = () => ({
  ...Object.fromEntries(FAULTS.map(kind => [kind, 0])),
  example: undefined,
})

/** Metadata of each request in revision 2026-07-28. */
const STATELESS_META =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}'

const numberAfter = (text, key) => {
  const at = text.indexOf(key)
  return at === -1 ? undefined : Number.parseInt(text.slice(at + key.length, at + key.length + 20), 10)
}

const paddings = new Map()
const paddingOf = size => {
  if (!paddings.has(size)) paddings.set(size, Buffer.alloc(size, 'dolor sit amet lorem ipsum consectetur '))
  return paddings.get(size)
}

export class Session {
  #carrier
  #faults
  #pending = new Map()
  #last = 0
  #name
  #isStateless

  /**
   * The session sends with `carrier.send(id | undefined, pieces, { method, name })`; the carrier passes
   * messages to `received`.
   */
  constructor(carrier, { name, faults, isStateless }) {
    this.#carrier = carrier
    this.#name = name
    this.#faults = faults
    this.#isStateless = isStateless
  }

  /** Initializes the session and resolves with the pages of tools. */
  async start(limitMs) {
    await this.#carrier.start?.(
      (message, asked) => this.received(message, asked),
      (id, why) => this.#ended(id, why),
    )
    if (!this.#isStateless) await this.#introduce(limitMs)
    return await this.#walk(limitMs)
  }

  async #introduce(limitMs) {
    const params =
      '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}'
    await this.#ask('initialize', params, limitMs)
    this.#carrier.send(undefined, ['{"jsonrpc":"2.0","method":"notifications/initialized"}'])
  }

  /** Reads all pages of the tool list, by cursor. */
  async #walk(limitMs) {
    const pages = {}
    let cursor = ''
    do {
      const params = cursor === '' ? '' : `"cursor":${JSON.stringify(cursor)}`
      const text = (await this.#ask('tools/list', params, limitMs)).toString()
      const { result } = JSON.parse(text)
      if (result === undefined) throw new Error(`tools/list: ${text.slice(0, 160)}`)
      pages[cursor] = text.slice(text.indexOf('"result":') + 9, -1)
      cursor = result.nextCursor ?? ''
    } while (cursor !== '')
    return pages
  }

  #ask(method, params, limitMs) {
    return new Promise((resolve, reject) => {
      this.#last += 1
      const id = this.#last
      const fail = why => reject(new Error(`${method}: ${why}`))
      const backstop = setTimeout(() => fail(`no answer in ${limitMs / 1000} s`), limitMs)
      const done = (_isRight, message, why) => {
        clearTimeout(backstop)
        if (message === undefined) fail(why)
        else resolve(message)
      }
      this.#pending.set(id, { tag: undefined, size: 0, notices: 0, heard: 0, done })
      const all = [this.#isStateless ? `"_meta":{${STATELESS_META}}` : '', params].filter(text => text !== '')
      const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":{${all.join(',')}}}`
      this.#carrier.send(id, [body], { method })
    })
  }

  /** Requests one page of tools; `bytes` is the known length of its result. */
  page(cursor, bytes, done) {
    this.#last += 1
    const id = this.#last
    this.#pending.set(id, { tag: undefined, size: bytes, notices: 0, heard: 0, done })
    const params = cursor === '' ? '{}' : `{"cursor":"${cursor}"}`
    this.#carrier.send(id, [`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}`])
  }

  /** Calls the tool. `done(isRight)` runs after the answer, or once none can arrive. */
  call({ tool, size, argument, notices, isStructured }, done) {
    this.#last += 1
    const id = this.#last
    const tag = `${this.#name}-${id}`
    this.#pending.set(id, { tag: `"text":"${tag} `, size, notices, heard: 0, done })
    const noticed = notices > 0 ? `"notices":${notices},` : ''
    const structured = isStructured ? '"structured":true,' : ''
    const head = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{${this.#meta(id, notices)}"name":"${tool}","arguments":{"tag":"${tag}","size":${size},${noticed}${structured}"padding":"`
    const about = { method: 'tools/call', name: tool }
    if (argument <= 1000) this.#carrier.send(id, [`${head}${paddingOf(argument).latin1Slice()}"}}}`], about)
    else this.#carrier.send(id, [head, paddingOf(argument), '"}}}'], about)
  }

  #meta(id, notices) {
    const token = notices > 0 ? `"progressToken":${id}` : ''
    if (this.#isStateless) return `"_meta":{${token}${token && ','}${STATELESS_META}},`
    return token && `"_meta":{${token}},`
  }

  /** Counts requests without a timely answer as lost. */
  giveUp() {
    this.#faults.lost += this.#pending.size
    if (this.#pending.size > 0) this.#faults.example ??= 'lost: no answer in time'
    this.#pending.clear()
  }

  async close() {
    await this.#carrier.close()
  }

  /** Receives a message; over HTTP, `asked` is the id of the request that it answers. */
  received(message, asked) {
    const head = message.toString('latin1', 0, HEAD_BYTES)
    if (head.includes('"method":')) {
      this.#notice(head)
      return
    }
    let id = numberAfter(head, '"id":')
    if (id === undefined)
      id = numberAfter(message.toString('latin1', Math.max(0, message.length - TAIL_BYTES)), '"id":')
    const waiting = this.#pending.get(id)
    if (waiting === undefined) {
      // A body that is not an answer, such as an error page, leaves the request unanswered.
      if (id !== undefined) this.#fault(id <= this.#last ? 'doubled' : 'wrong', head)
      return
    }
    this.#pending.delete(id)
    const isRight =
      (asked === undefined || asked === id) &&
      (waiting.tag === undefined || head.includes(waiting.tag)) &&
      message.length >= waiting.size
    if (!isRight) this.#fault('wrong', head)
    if (waiting.heard !== waiting.notices)
      this.#fault('missing', `${waiting.notices - waiting.heard} of ${waiting.notices} notices`)
    waiting.done(isRight, message)
  }

  /** Ends a request that can receive no more messages. */
  #ended(id, why) {
    const waiting = this.#pending.get(id)
    if (waiting === undefined) return
    this.#pending.delete(id)
    this.#fault('lost', why)
    waiting.done(false, undefined, why)
  }

  #notice(head) {
    if (!head.includes('notifications/progress')) return
    const waiting = this.#pending.get(numberAfter(head, '"progressToken":'))
    if (waiting === undefined) {
      this.#fault('late', head)
      return
    }
    if (numberAfter(head, '"progress":') !== waiting.heard + 1) this.#fault('unordered', head)
    waiting.heard += 1
  }

  #fault(kind, example) {
    this.#faults[kind] += 1
    this.#faults.example ??= `${kind}: ${example.slice(0, 160)}`
  }
}
