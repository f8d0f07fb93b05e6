// The floor on stdio in front of a remote server: each line is a POST, each answer a line. Usage: node
// stdio.js URL
import { Agent, request } from 'node:http'
import { lines, placeOfId } from './pipe.js'

const url = new URL(process.argv[2])
const options = {
  method: 'POST',
  host: url.hostname,
  port: url.port,
  path: url.pathname,
  agent: new Agent({ keepAlive: true }),
}
const NEWLINE = Buffer.from('\n')
const DATA_BYTES = 'data: '.length
let last = 0

const post = line => {
  const place = placeOfId(line)
  last += 1
  const body =
    place === undefined
      ? line
      : Buffer.concat([line.subarray(0, place.from), Buffer.from(String(last)), line.subarray(place.to)])
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    accept: 'application/json, text/event-stream',
  }
  const pass = answer => {
    const at = placeOfId(answer.length > 200 ? answer.subarray(0, 200) : answer)
    // There is one client: its tokens can stay as they are.
    const pieces =
      at === undefined
        ? [answer, NEWLINE]
        : [answer.subarray(0, at.from), line.subarray(place.from, place.to), answer.subarray(at.to), NEWLINE]
    process.stdout.write(Buffer.concat(pieces))
  }
  const sent = request({ ...options, headers }, response => {
    if (response.headers['content-type'] === 'text/event-stream') {
      response.on(
        'data',
        lines(event => event.length > 0 && pass(event.subarray(DATA_BYTES))),
      )
      return
    }
    const chunks = []
    response.on('data', chunk => chunks.push(chunk))
    response.on('end', () => {
      if (place !== undefined) pass(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))
    })
  })
  sent.end(body)
}

process.stdin.on('data', lines(post))
process.stdin.on('end', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))
