// One client, whatever carries its messages. Every answer is checked to be its own: the id, and a tag that the server says back.

const HEAD_BYTES = 400
const TAIL_BYTES = 200

/** What went wrong; all zero in a run that is worth anything. */
export const noFaults = () => ({ wrong: 0, doubled: 0, lost: 0, unordered: 0, example: undefined })

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

  /** `carrier.send(id | undefined, pieces, session)`; what comes back is told to `received`. */
  constructor(carrier, name, faults) {
    this.#carrier = carrier
    this.#name = name
    this.#faults = faults
  }

  get open() {
    return this.#pending.size
  }

  async start() {
    await this.#carrier.start?.(message => this.received(message))
    const params =
      '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}'
    await this.ask('initialize', params)
    this.#carrier.send(undefined, ['{"jsonrpc":"2.0","method":"notifications/initialized"}'])
    return await this.walk()
  }

  /** The pages of the list of tools, by cursor. */
  async walk() {
    const pages = {}
    let cursor = ''
    do {
      const answer = await this.ask(
        'tools/list',
        cursor === '' ? '{}' : `{"cursor":${JSON.stringify(cursor)}}`,
      )
      const { result } = JSON.parse(answer.toString())
      const text = answer.toString()
      pages[cursor] = text.slice(text.indexOf('"result":') + 9, -1)
      cursor = result?.nextCursor ?? ''
    } while (cursor !== '')
    return pages
  }

  ask(method, params) {
    return new Promise((resolve, reject) => {
      this.#last += 1
      const id = this.#last
      const backstop = setTimeout(() => reject(new Error(`no answer to ${method}`)), 30_000)
      const done = message => {
        clearTimeout(backstop)
        resolve(message)
      }
      this.#pending.set(id, { tag: undefined, size: 0, notices: 0, heard: 0, done })
      this.#carrier.send(id, [`{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`])
    })
  }

  /** Asks for one page of tools; `bytes` is how long its result is known to be. */
  page(cursor, bytes, done) {
    this.#last += 1
    const id = this.#last
    this.#pending.set(id, { tag: undefined, size: bytes, notices: 0, heard: 0, done })
    const params = cursor === '' ? '{}' : `{"cursor":"${cursor}"}`
    this.#carrier.send(id, [`{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}`])
  }

  /** Calls the tool; `done` is told when its answer was there. */
  call({ tool, size, argument, notices }, done) {
    this.#last += 1
    const id = this.#last
    const tag = `${this.#name}-${id}`
    this.#pending.set(id, { tag: `"text":"${tag} `, size, notices, heard: 0, done })
    const meta = notices > 0 ? `"_meta":{"progressToken":${id}},` : ''
    const asked = notices > 0 ? `"notices":${notices},` : ''
    const head = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{${meta}"name":"${tool}","arguments":{"tag":"${tag}","size":${size},${asked}"padding":"`
    if (argument <= 1000) this.#carrier.send(id, [`${head}${paddingOf(argument).latin1Slice()}"}}}`])
    else this.#carrier.send(id, [head, paddingOf(argument), '"}}}'])
  }

  /** What had no answer in time is lost. */
  giveUp() {
    this.#faults.lost += this.#pending.size
    this.#pending.clear()
  }

  close() {
    this.#carrier.close()
  }

  /** Takes a message; over HTTP `asked` is the id of the request that it answers. */
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
      this.#fault(id <= this.#last ? 'doubled' : 'wrong', head)
      return
    }
    this.#pending.delete(id)
    if (asked !== undefined && asked !== id) this.#fault('wrong', head)
    else if (waiting.tag !== undefined && !head.includes(waiting.tag)) this.#fault('wrong', head)
    else if (message.length < waiting.size) this.#fault('wrong', head)
    if (waiting.heard !== waiting.notices)
      this.#fault('lost', `${waiting.heard} of ${waiting.notices} notices`)
    waiting.done(message)
  }

  #notice(head) {
    if (!head.includes('notifications/progress')) return
    const waiting = this.#pending.get(numberAfter(head, '"progressToken":'))
    if (waiting === undefined) {
      this.#fault('doubled', head)
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
