import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib'
import t, { type Test } from 'tap'
import { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS } from '../../../src/kernel/limits.js'
import { collect, fetchReply } from '../../../src/rpc/http/fetch-reply.js'
import { createHttpClient } from '../../../src/transport/http/client.js'
import { createGuardedFetch } from '../../../src/transport/http/guarded-fetch.js'
import { until } from '../../support/processes.js'

const MIB = 1024 * 1024

async function remote(t: Test, answer: (response: ServerResponse) => void) {
  const server = createServer((_request, response) => answer(response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const http = createHttpClient()
  t.teardown(() => http.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const get = () => fetchReply(http, { method: 'GET', url, headers: {} }, new AbortController().signal)
  return { url, http, get }
}

const boundsOf = (message = MIB) => new LimitCounters({ limits: { ...DEFAULT_LIMITS, message } })

const TEXT = `{"text":"${'ä'.repeat(50_000)}"}`

const CODED: readonly [codings: string, body: Buffer][] = [
  ['gzip', gzipSync(TEXT)],
  ['x-gzip', gzipSync(TEXT)],
  ['GZIP', gzipSync(TEXT)],
  ['br', brotliCompressSync(TEXT)],
  ['deflate', deflateSync(TEXT)],
  ['deflate', deflateRawSync(TEXT)],
  ['identity', Buffer.from(TEXT)],
  ['', Buffer.from(TEXT)],
  ['identity, gzip', gzipSync(TEXT)],
  ['deflate, gzip', gzipSync(deflateSync(TEXT))],
  ['deflate, br', brotliCompressSync(deflateRawSync(TEXT))],
  ['gzip, deflate', deflateRawSync(gzipSync(TEXT))],
  ['br,gzip', gzipSync(brotliCompressSync(TEXT))],
]

t.test('a compressed response is read, whatever its codings', async t => {
  for (const [coding, body] of CODED) {
    for (const status of [200, 400]) {
      const { get } = await remote(t, response => {
        response.writeHead(status, { 'content-encoding': coding })
        response.end(body)
      })
      const reply = await get()
      t.equal(reply.status, status)
      t.equal((await collect(reply, boundsOf())).toString(), TEXT, `${coding} with ${status}`)
    }
  }
})

t.test('codings in several headers count in their order', async t => {
  const { get } = await remote(t, response => {
    response.setHeader('content-encoding', ['deflate', 'gzip'])
    response.end(gzipSync(deflateSync(TEXT)))
  })
  t.equal((await collect(await get(), boundsOf())).toString(), TEXT)
})

t.test('a body that comes byte by byte is the same', async t => {
  for (const [coding, body] of [
    ['deflate', deflateRawSync('hello')],
    ['deflate', deflateSync('hello')],
    ['gzip', gzipSync('hello')],
  ] as const) {
    const { get } = await remote(t, response => {
      response.writeHead(200, { 'content-encoding': coding })
      const rest = [...body]
      const next = (): void => {
        const byte = rest.shift()
        if (byte === undefined) response.end()
        else response.write(Buffer.of(byte), () => setImmediate(next))
      }
      next()
    })
    t.equal((await collect(await get(), boundsOf())).toString(), 'hello')
  }
})

t.test('an empty body has no coding', async t => {
  for (const status of [200, 202, 204, 500]) {
    const { get } = await remote(t, response =>
      response.writeHead(status, { 'content-encoding': 'gzip' }).end(),
    )
    t.equal((await collect(await get(), boundsOf())).length, 0, String(status))
  }
})

t.test('each event of a compressed stream arrives when it is sent', async t => {
  const streams = {
    gzip: () => createGzip({ flush: constants.Z_SYNC_FLUSH }),
    br: () => createBrotliCompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  }
  for (const [coding, create] of Object.entries(streams)) {
    const zip = create()
    const { http, url } = await remote(t, response => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding })
      zip.pipe(response)
    })
    let got = ''
    let end: unknown = 'open'
    http.send(
      { method: 'GET', url, headers: {} },
      {
        head: () => undefined,
        data: chunk => {
          got += chunk.toString()
        },
        ended: fault => {
          end = fault
        },
      },
    )
    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      zip.write(event)
      await until(() => got.endsWith(event), `${event} in ${coding}`)
    }
    zip.end()
    await until(() => end !== 'open', 'the end')
    t.equal(end, undefined)
  }
})

t.test('a body that grows beyond the limit is not decoded any further', async t => {
  const bombs = {
    gzip: gzipSync(Buffer.alloc(24 * MIB)),
    br: brotliCompressSync(Buffer.alloc(8 * MIB), { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
    'gzip, gzip': gzipSync(gzipSync(Buffer.alloc(24 * MIB))),
  }
  for (const [coding, body] of Object.entries(bombs)) {
    const { get } = await remote(t, response => {
      response.writeHead(200, { 'content-encoding': coding })
      response.end(body)
    })
    const reply = await get()
    const before = process.memoryUsage().arrayBuffers
    await t.rejects(collect(reply, boundsOf(MIB)), { code: 'too-large' }, coding)
    t.ok(process.memoryUsage().arrayBuffers - before < 32 * MIB, `${coding}: memory stays bounded`)
  }
})

t.test('codings that expand only between them are refused', async t => {
  // Empty members: each is 20 bytes that decode to none.
  const body = gzipSync(Buffer.alloc(32 * MIB, gzipSync('')))
  const { get } = await remote(t, response => {
    response.writeHead(200, { 'content-encoding': 'gzip, gzip' })
    response.end(body)
  })
  await t.rejects(collect(await get(), boundsOf()), { code: 'disconnected', message: /gzip, gzip/ })
})

t.test('a paused body is decoded no further, and holds the server back', async t => {
  const body = gzipSync(Buffer.alloc(8 * MIB))
  const { http, url } = await remote(t, response => {
    response.writeHead(200, { 'content-encoding': 'gzip' })
    response.end(body)
  })
  let bytes = 0
  let isPaused = false
  let isOver = false
  const exchange = http.send(
    { method: 'GET', url, headers: {} },
    {
      head: () => {
        exchange.pause()
        isPaused = true
      },
      data: chunk => {
        bytes += chunk.length
      },
      ended: () => {
        isOver = true
      },
    },
  )
  await until(() => isPaused, 'the head')
  await new Promise(resolve => setTimeout(resolve, 50))
  t.ok(bytes < MIB, `${bytes} bytes`)
  exchange.resume()
  await until(() => isOver, 'the end')
  t.equal(bytes, 8 * MIB)
})

t.test('a body that is cut off or damaged is an error', async t => {
  const [gzip, br, raw] = [gzipSync(TEXT), brotliCompressSync(TEXT), deflateRawSync(TEXT)]
  for (const [coding, body] of [
    ['gzip', gzip.subarray(0, -4)],
    ['br', br.subarray(0, -4)],
    ['deflate', raw.subarray(0, -4)],
    ['deflate, gzip', gzipSync(raw.subarray(0, -4))],
    ['gzip', Buffer.from('not compressed')],
  ] as const) {
    const { get } = await remote(t, response => {
      response.writeHead(200, { 'content-encoding': coding })
      response.end(body)
    })
    const read = get().then(reply => collect(reply, boundsOf()))
    await t.rejects(read, { code: 'disconnected', message: /compressed response of http/ }, coding)
  }
})

t.test('an unknown coding is named, and an HTTP error keeps its status', async t => {
  for (const [coding, named] of [
    ['zstd', '"zstd"'],
    ['gzip, compress', '"compress"'],
    ['gzip, gzip, gzip, gzip, gzip', 'more than 4'],
  ] as const) {
    let status = 200
    const { get } = await remote(t, response => {
      response.writeHead(status, { 'content-encoding': coding, 'content-type': 'application/json' })
      response.end('{}')
    })
    await t.rejects(get(), { code: 'unavailable', message: new RegExp(named) })
    status = 401
    const reply = await get()
    t.equal(reply.status, 401)
    t.equal(reply.headers['content-type'], undefined, 'its body cannot be read')
    reply.discard()
  }
})

t.test('a fetch of metadata decodes its response, within its limit', async t => {
  let body = gzipSync(TEXT)
  const { url } = await remote(t, response => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(body)
  })
  const fetch = createGuardedFetch({ trusted: [url] })
  const response = await fetch(url)
  t.equal(await response.text(), TEXT)
  t.equal(response.headers.get('content-encoding'), null)
  body = gzipSync(Buffer.alloc(8 * MIB))
  await t.rejects(fetch(url), { code: 'too-large' })
})
