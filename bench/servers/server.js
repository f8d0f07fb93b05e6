// What the servers of the benchmarks answer, as bytes. They do as little as they can, so that the proxies in front of them are measured.

const TOOLS = Number(process.env.BENCH_TOOLS ?? 10)

const describe = name =>
  JSON.stringify({
    name,
    description: `Does what ${name} is for. Long enough to be a description, with "quotes" and a line break.\nSee the manual.`,
    inputSchema: {
      type: 'object',
      properties: { tag: { type: 'string' }, size: { type: 'integer' }, padding: { type: 'string' } },
      required: ['tag'],
    },
  })

const tools = Array.from({ length: TOOLS }, (_, i) => describe(i === 0 ? 'make' : `tool_${i}`))
const LIST = Buffer.from(`{"tools":[${tools.join(',')}]}`)

const paddings = new Map()
const paddingOf = size => {
  let padding = paddings.get(size)
  if (padding === undefined) {
    padding = Buffer.alloc(size, 'lorem ipsum dolor sit amet consectetur ')
    paddings.set(size, padding)
  }
  return padding
}

/** The text or number behind a key near the start of a message: `padding`, which may be large, comes last. */
const after = (line, key) => {
  const at = line.indexOf(key)
  if (at === -1) return undefined
  const from = at + key.length
  let to = from
  while (line[to] !== 0x2c && line[to] !== 0x7d) to += 1
  return line.toString('latin1', from, to)
}

const HEAD_BYTES = 600

/** Answers one message through `put`, which takes pieces of a message and is called once for each message. */
export function answer(line, put) {
  const head = line.length > HEAD_BYTES ? line.subarray(0, HEAD_BYTES) : line
  const id = after(head, '"id":')
  if (id === undefined) return
  const method = after(head, '"method":')
  const start = `{"jsonrpc":"2.0","id":${id},"result":`
  if (method === '"tools/call"') {
    call(line, head, start, put)
  } else if (method === '"initialize"') {
    const version = after(head, '"protocolVersion":')
    put(
      Buffer.from(
        `${start}{"protocolVersion":${version},"capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}}`,
      ),
    )
  } else if (method === '"tools/list"') {
    put(Buffer.from(start), LIST, Buffer.from('}'))
  } else if (method === '"server/discover"') {
    put(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`))
  } else {
    put(Buffer.from(`${start}{}}`))
  }
}

function call(line, head, start, put) {
  const tag = after(head, '"tag":').slice(1, -1)
  const size = Number(after(head, '"size":') ?? 0)
  const notices = Number(after(head, '"notices":') ?? 0)
  // Whoever changes the request keeps the token at either end.
  const token = notices > 0 ? (after(head, '"progressToken":') ?? after(line, '"progressToken":')) : undefined
  for (let n = 1; n <= notices; n += 1) {
    put(
      Buffer.from(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${n},"message":"${tag}"}}`,
      ),
    )
  }
  put(
    Buffer.from(`${start}{"content":[{"type":"text","text":"${tag} ${line.length} `),
    paddingOf(size),
    Buffer.from('"}]}}'),
  )
}
