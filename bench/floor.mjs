// The floor: the least that any proxy must do. node:http in front of a child's pipe, ids spliced in the bytes, nothing else:
// no validation, no sessions, no limits. Usage: node floor.mjs COMMAND ARG...
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const child = spawn(process.argv[2], process.argv.slice(3), { stdio: ['pipe', 'pipe', 'inherit'] })
const pending = new Map()
let last = 0
let rest = []

child.stdout.on('data', chunk => {
  let from = 0
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
    const piece = chunk.subarray(from, at)
    const line = rest.length === 0 ? piece : Buffer.concat([...rest, piece])
    rest = []
    from = at + 1
    answer(line)
  }
  if (from < chunk.length) rest.push(chunk.subarray(from))
})

function answer(line) {
  const from = line.indexOf('"id":') + 5
  const to = line.indexOf(',', from)
  const id = Number(line.toString('latin1', from, to))
  const waiting = pending.get(id)
  pending.delete(id)
  if (waiting === undefined) return
  const body = Buffer.concat([line.subarray(0, from), waiting.id, line.subarray(to)])
  waiting.response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': body.length,
    'mcp-session-id': 'floor',
  })
  waiting.response.end(body)
}

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', chunk => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const found = body.indexOf('"id":')
    if (found === -1) {
      child.stdin.write(Buffer.concat([body, Buffer.from('\n')]))
      response.writeHead(202).end()
      return
    }
    const from = found + 5
    const to = body.indexOf(',', from)
    last += 1
    pending.set(last, { id: body.subarray(from, to), response })
    child.stdin.write(Buffer.concat([body.subarray(0, from), Buffer.from(String(last)), body.subarray(to), Buffer.from('\n')]))
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`))
process.on('SIGTERM', () => process.exit(0))
