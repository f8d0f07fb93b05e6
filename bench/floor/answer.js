// The response logic of the floors over HTTP.
import { placeOfId } from './pipe.js'

const JSON_HEAD = { 'content-type': 'application/json', 'mcp-session-id': 'floor' }
const EVENTS_HEAD = { 'content-type': 'text/event-stream', 'mcp-session-id': 'floor' }

export const readBody = (request, done) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)))
}

export const sendJson = (response, before, id, after) => {
  const body = Buffer.concat([before, id, after])
  response.writeHead(200, { ...JSON_HEAD, 'content-length': body.length }).end(body)
}

/** Forwards a client's message; progress turns the response into an event stream. */
export const relay = (pipe, body, response) => {
  const place = placeOfId(body)
  if (place === undefined) {
    pipe.notice(body)
    response.writeHead(202).end()
  } else if (body.includes('"progressToken":')) {
    response.writeHead(200, EVENTS_HEAD)
    const event = (before, own, after) =>
      response.write(Buffer.concat([Buffer.from('data: '), before, own, after, Buffer.from('\n\n')]))
    const last = (...pieces) => {
      event(...pieces)
      response.end()
    }
    pipe.request(body, place, last, event)
  } else {
    pipe.request(body, place, (before, id, after) => sendJson(response, before, id, after))
  }
}
