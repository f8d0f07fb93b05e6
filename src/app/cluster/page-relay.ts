import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Cluster, RelayedEndpoint } from '../../cluster/cluster.js'
import type { ClusterMember } from '../../cluster/engine/store.js'
import { MISDIRECTED } from '../../cluster/link/forwarding.js'
import { type Clock, pause } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { NodeHandler } from '../../transport/http/gate.js'
import { clientAddressOf } from '../../transport/http/request.js'
import { readShortBody } from '../../transport/http/short-body.js'
import { inject, type PageAnswer, type PageRequest } from './injected.js'

/** The path for forwarded page requests. */
const PAGES_PATH = '/pages'

const MOST_BYTES = 64 * 1024
/** Time that a request waits for the responsible replica and its answer. */
const HOLD_MS = 8000
const AGAIN_MS = 250
/** Maximum time for the answer of a live replica. */
const ANSWER_MS = 40_000

/**
 * The replica that answers a request: this one, another that holds the request's state, or the oldest, which
 * prevents double grants.
 */
export type Answerer = 'here' | 'holder' | 'eldest'

export interface OwnPages {
  answererOf(path: string, query: string): Answerer
  readonly handle: NodeHandler
}

type Answered = PageAnswer | 'not here' | 'refused' | 'lost'

type RelayCluster = Pick<Cluster, 'others' | 'eldest' | 'isEldest' | 'refresh' | 'send'>

/** Lets browser logins and token requests continue on any replica that a load balancer picks. */
export class PageRelay {
  readonly #cluster: RelayCluster
  readonly #clock: Clock
  #own: OwnPages | undefined
  #load: () => Promise<unknown> = () => Promise.resolve()

  constructor(cluster: RelayCluster, clock: Clock) {
    this.#cluster = cluster
    this.#clock = clock
  }

  /** Sets the loader that must run before `open`. */
  late(load: () => Promise<unknown>): void {
    this.#load = load
  }

  /** Returns the handler of these requests, local or forwarded. */
  open(own: OwnPages): NodeHandler {
    this.#own = own
    return (request, response) => {
      if (answerer(own, request.url) === 'here') own.handle(request, response)
      else
        void this.#pass(own, request).then(
          answer => send(response, answer),
          () => send(response, TOO_LARGE),
        )
    }
  }

  /** Returns the handler of forwarded requests, or undefined for another path. */
  endpointAt(path: string): RelayedEndpoint | undefined {
    if (path !== PAGES_PATH) return undefined
    return {
      has: () => true,
      sessionOf: () => undefined,
      serve: ({ body }, responder) => {
        // The signature proves that a replica wrote it.
        const asked = JSON.parse(body.toString()) as PageRequest
        this.#answer(asked).then(
          answer => {
            if (answer === undefined) responder.send(MISDIRECTED, {})
            else responder.send(200, JSON_TYPE, JSON.stringify(answer))
          },
          () => responder.send(503, {}),
        )
      },
    }
  }

  /**
   * Returns undefined if the request's state is not on this replica. Rejects with a Fault `unavailable` if
   * only the oldest replica may answer and this one is not it: two would each accept a refresh token once.
   */
  async #answer(asked: PageRequest): Promise<PageAnswer | undefined> {
    await this.#load()
    const own = this.#own
    if (own === undefined) return undefined
    const by = answerer(own, asked.url)
    if (by === 'holder') return undefined
    if (by === 'eldest') await this.#checkEldest()
    return await inject(own.handle, asked)
  }

  async #checkEldest(): Promise<void> {
    if (!this.#cluster.isEldest) await this.#cluster.refresh()
    if (!this.#cluster.isEldest) throw new Fault('unavailable', 'only the oldest replica answers this')
  }

  async #pass(own: OwnPages, request: IncomingMessage): Promise<PageAnswer> {
    const { method = 'GET', url = '/', headers } = request
    const address = clientAddressOf(request)
    const asked = { method, url, headers, body: await bodyOf(request), address }
    if (answerer(own, url) === 'holder') {
      for (const member of this.#cluster.others) {
        const answered = await this.#ask(member, asked)
        if (typeof answered === 'object') return answered
      }
      return await inject(own.handle, asked)
    }
    const endMs = this.#clock.nowMs() + HOLD_MS
    for (;;) {
      const { eldest, isEldest } = this.#cluster
      if (isEldest) return await inject(own.handle, asked)
      const answered = eldest === undefined ? 'refused' : await this.#ask(eldest, asked)
      if (typeof answered === 'object') return answered
      if (answered !== 'refused' || this.#clock.nowMs() >= endMs) return UNREACHABLE
      await pause(this.#clock, AGAIN_MS)
      await this.#cluster.refresh().catch(() => undefined)
    }
  }

  /** Gives up when the lease of the other replica has ended, as after it stalled. */
  #ask(member: ClusterMember, asked: PageRequest): Promise<Answered> {
    return new Promise(resolve => {
      const chunks: Buffer[] = []
      let status = 0
      const end = (fault?: Fault): void => {
        timer.cancel()
        if (fault !== undefined) resolve(fault.code === 'unavailable' ? 'refused' : 'lost')
        else if (status === 200) resolve(JSON.parse(Buffer.concat(chunks).toString()) as PageAnswer)
        else resolve(status === MISDIRECTED ? 'not here' : 'refused')
      }
      const request = { ...OURS, body: Buffer.from(JSON.stringify(asked)) }
      const sent = this.#cluster.send(member, request, {
        head: code => {
          status = code
        },
        data: chunk => chunks.push(chunk),
        ended: end,
      })
      const endMs = this.#clock.nowMs() + ANSWER_MS
      const timer = this.#clock.every(AGAIN_MS, () => {
        const isLive = this.#cluster.others.some(({ id }) => id === member.id)
        if (isLive && this.#clock.nowMs() < endMs) return
        timer.cancel()
        sent.abort()
        resolve('lost')
      })
    })
  }
}

const JSON_TYPE = { 'content-type': 'application/json' }

const OURS = {
  ...{ method: 'POST', path: PAGES_PATH, query: new URLSearchParams(), headers: {} },
  caller: { principal: '', scopes: undefined, endsMs: Number.POSITIVE_INFINITY },
}

const answerer = (own: OwnPages, url = '/'): Answerer => {
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  return own.answererOf(path, query)
}

const words = (status: number, error: string, description: string): PageAnswer => ({
  status,
  headers: { ...JSON_TYPE, 'cache-control': 'no-store', 'retry-after': '5' },
  body: Buffer.from(JSON.stringify({ error, error_description: description })).toString('base64'),
})

const UNREACHABLE = words(
  503,
  'temporarily_unavailable',
  'the replica that holds this request is not reachable',
)
const TOO_LARGE = words(413, 'invalid_request', 'the request is too large')

const send = (response: ServerResponse, { status, headers, body }: PageAnswer): void => {
  const bytes = Buffer.from(body, 'base64')
  response.writeHead(status, { ...headers, 'content-length': bytes.length }).end(bytes)
}

/** Reads a body as base64. Rejects if it is too large or incomplete. */
const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const body = await readShortBody(request, MOST_BYTES)
  if (body === undefined) throw new RangeError('too large')
  return body.toString('base64')
}
