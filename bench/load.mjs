import { Agent, request } from 'node:http'

/** One HTTP client with a session of its own; every answer is checked to be its own. */
export class LoadClient {
  #url
  #agent
  #session
  #last = 0

  constructor(url, lanes) {
    this.#url = url
    this.#agent = new Agent({ keepAlive: true, maxSockets: lanes })
  }

  async open() {
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'bench', version: '1' } }
    const { headers } = await this.#post(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
    this.#session = headers['mcp-session-id']
    await this.#post('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    await this.#post('{"jsonrpc":"2.0","id":"l","method":"tools/list"}')
  }

  /** Calls the tool; throws if the answer is not the answer to this call. */
  async call(size, padding) {
    this.#last += 1
    const id = this.#last
    const tag = `t${id}`
    const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"make","arguments":{"tag":"${tag}","size":${size}${padding}}}}`
    const answer = await this.#post(body)
    const text = answer.body.toString('latin1', 0, 200)
    if (!text.includes(`"id":${id},`) || !answer.body.includes(`"text":"${tag} `) || answer.body.length < size) {
      throw new Error(`wrong answer to ${id}: ${text}`)
    }
  }

  close() {
    this.#agent.destroy()
  }

  #post(body) {
    return new Promise((resolve, reject) => {
      const sent = request(
        this.#url,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
            accept: 'application/json, text/event-stream',
            ...(this.#session !== undefined && { 'mcp-session-id': this.#session }),
          },
        },
        response => {
          const chunks = []
          response.on('data', chunk => chunks.push(chunk))
          response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks) }))
          response.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }
}
