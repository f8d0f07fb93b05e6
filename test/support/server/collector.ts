import { EventEmitter, once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import type { Test } from 'tap'
import type { Loose } from '../client/raw-client.js'
import { isObject } from '../match.js'
import { listenFor } from './plain-http-server.js'

/** A span received over OTLP, with its attributes as an object. */
export interface SentSpan {
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number; readonly message?: string }
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly attributes: Readonly<Record<string, unknown>>
}

/** A request that a collector received. */
export interface Posted {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A span collector with configurable responses, by default successful. */
export class Collector {
  readonly posts: Posted[] = []
  /** Status, headers and body of the next responses; undefined sends none. */
  answer: { readonly status: number; readonly headers?: object; readonly body?: string } | undefined = {
    status: 200,
  }
  readonly #events = new EventEmitter()

  /** Starts it and resolves with its base address. */
  start(t: Test): Promise<string> {
    const server = createServer((request, response) => {
      void buffer(request).then(raw => {
        const isZipped = request.headers['content-encoding'] === 'gzip'
        const body = isZipped ? gunzipSync(raw) : raw
        this.posts.push({ path: request.url ?? '', headers: request.headers, body })
        const { answer } = this
        if (answer !== undefined) response.writeHead(answer.status, { ...answer.headers }).end(answer.body)
        this.#events.emit('post')
      })
    })
    return listenFor(t, server)
  }

  /** Resolves after this number of requests. */
  async posted(count: number): Promise<void> {
    while (this.posts.length < count) await once(this.#events, 'post')
  }

  /** Resolves with all spans received as JSON, once enough of them match. */
  async spans(isWanted: (span: SentSpan) => boolean, count = 1): Promise<readonly SentSpan[]> {
    for (;;) {
      const all = this.posts.flatMap(({ body }) => spansIn(JSON.parse(body.toString())))
      if (all.filter(isWanted).length >= count) return all
      await once(this.#events, 'post')
    }
  }
}

const spansIn = ({ resourceSpans }: { resourceSpans: Loose[] }): SentSpan[] =>
  resourceSpans.flatMap(({ scopeSpans }) =>
    scopeSpans.flatMap(({ spans }: Loose) =>
      spans.map((span: Loose) => ({ ...span, attributes: attributesOf(span.attributes) })),
    ),
  )

const attributesOf = (pairs: readonly { key: string; value: object }[]): Record<string, unknown> =>
  Object.fromEntries(
    pairs.map(({ key, value }) => [key, isObject(value) ? Object.values(value)[0] : undefined]),
  )
