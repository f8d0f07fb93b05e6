// Answers of the benchmark servers, as bytes. The servers do minimal work, so that the proxies dominate.

const TOOLS = Number(process.env.BENCH_TOOLS ?? 10)
const IS_MODERN = process.argv[2] === 'modern'
const COMPLETE = IS_MODERN ? '"resultType":"complete",' : ''
const LASTING = IS_MODERN ? '"ttlMs":600000,"cacheScope":"public",' : ''

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
const LIST = Buffer.from(`{${COMPLETE}${LASTING}"tools":[${tools.join(',')}]}`)

const paddings = new Map()
const paddingOf = size => {
  let padding = paddings.get(size)
  if (padding === undefined) {
    padding = Buffer.alloc(size, 'lorem ipsum dolor sit amet consectetur ')
    paddings.set(size, padding)
  }
  return padding
}

/** Returns a key's string or number near the start of a message; the large `padding` comes last. */
const after = (line, key) => {
  const at = line.indexOf(key)
  if (at === -1) return undefined
  const from = at + key.length
  let to = from
  while (line[to] !== 0x2c && line[to] !== 0x7d) to += 1
  return line.toString('latin1', from, to)
}

const HEAD_BYTES = 800
const TAIL_BYTES = 100

/** Answers one message with one call of `put` per message, which takes its pieces. */
export function answer(line, put) {
  const head = line.length > HEAD_BYTES ? line.subarray(0, HEAD_BYTES) : line
  // Proxies that rebuild the request put its id at the end.
  const id = after(head, '"id":') ?? after(line.subarray(-TAIL_BYTES), '"id":')
  if (id === undefined) return
  const method = after(head, '"method":')
  const start = `{"jsonrpc":"2.0","id":${id},"result":`
  if (method === '"tools/call"') {
    call(line, head, start, put)
  } else if (method === '"tools/list"') {
    put(Buffer.from(start), LIST, Buffer.from('}'))
  } else if (method === (IS_MODERN ? '"server/discover"' : '"initialize"')) {
    put(Buffer.from(`${start}${IS_MODERN ? DISCOVERY : greeting(head)}}`))
  } else if (method === '"server/discover"' || method === '"initialize"') {
    put(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"Method not found"}}`))
  } else {
    put(Buffer.from(`${start}{${COMPLETE.slice(0, -1)}}}`))
  }
}

const END = Buffer.from('"}]}}')
const STRUCTURED_END = Buffer.from(
  '"}],"structuredContent":{"items":[{"id":1,"name":"one","tags":["a","b"]},{"id":2,"name":"two","tags":[]}],"total":2}}}',
)

const IDENTITY = '{"name":"bench","version":"1"}'
const DISCOVERY = `{${COMPLETE}${LASTING}"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":${IDENTITY}}}`

const greeting = head =>
  `{"protocolVersion":${after(head, '"protocolVersion":')},"capabilities":{"tools":{}},"serverInfo":${IDENTITY}}`

function call(line, head, start, put) {
  const tag = after(head, '"tag":').slice(1, -1)
  const size = Number(after(head, '"size":') ?? 0)
  const notices = Number(after(head, '"notices":') ?? 0)
  // Proxies that modify the request keep the token at one of its ends.
  const token = notices > 0 ? (after(head, '"progressToken":') ?? after(line, '"progressToken":')) : undefined
  for (let n = 1; n <= notices; n += 1) {
    put(
      Buffer.from(
        `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},"progress":${n},"message":"${tag}"}}`,
      ),
    )
  }
  put(
    Buffer.from(`${start}{${COMPLETE}"content":[{"type":"text","text":"${tag} ${line.length} `),
    paddingOf(size),
    after(head, '"structured":') === undefined ? END : STRUCTURED_END,
  )
}
