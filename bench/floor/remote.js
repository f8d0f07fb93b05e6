// The common part of floors for remote servers: each message is a POST with a JSON or stream response.
import { Agent, request } from 'node:http'
import { lines, placeOfId } from './pipe.js'

const DATA_BYTES = 'data: '.length
const HEAD_BYTES = 200
const nothing = () => undefined

export class Remote {
  #options
  #last = 0

  constructor(text) {
    const url = new URL(text)
    const { hostname: host, port, pathname: path } = url
    this.#options = { method: 'POST', host, port, path, agent: new Agent({ keepAlive: true }) }
  }

  /** See `request` of a pipe. Keeps progress tokens, because each response belongs to one request. */
  request(body, place, done, onNotice = nothing) {
    this.#last += 1
    const own = Buffer.from(String(this.#last))
    const id = body.subarray(place.from, place.to)
    const pass = answer => {
      const at = placeOfId(answer.length > HEAD_BYTES ? answer.subarray(0, HEAD_BYTES) : answer)
      if (at === undefined) onNotice(answer)
      else done(answer.subarray(0, at.from), id, answer.subarray(at.to))
    }
    this.#post(Buffer.concat([body.subarray(0, place.from), own, body.subarray(place.to)]), pass)
  }

  notice(body) {
    this.#post(body, nothing)
  }

  #post(body, pass) {
    const headers = {
      'content-type': 'application/json',
      'content-length': body.length,
      accept: 'application/json, text/event-stream',
    }
    const sent = request({ ...this.#options, headers }, response => {
      if (response.headers['content-type'] === 'text/event-stream') {
        response.on(
          'data',
          lines(event => event.length > 0 && pass(event.subarray(DATA_BYTES))),
        )
        return
      }
      const chunks = []
      response.on('data', chunk => chunks.push(chunk))
      response.on('end', () => pass(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
    })
    sent.end(body)
  }
}
