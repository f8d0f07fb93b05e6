import { type CallPathSettings, callPath } from '../../../src/app/call-path.js'
import type { Exposure } from '../../../src/catalog/exposure.js'
import type { ServerCache } from '../../../src/catalog/lists/profile-cache.js'
import { ToolExposure } from '../../../src/catalog/views/tool-exposure.js'
import type { Views } from '../../../src/catalog/views/views.js'
import { Fault } from '../../../src/kernel/faults.js'
import { valueOf } from '../../../src/kernel/json/text.js'
import type { LimitCounters } from '../../../src/kernel/limit-counters.js'
import { type Logger, silentLogger } from '../../../src/kernel/logger.js'
import type { Via } from '../../../src/model/links.js'
import type { ClientCapabilities } from '../../../src/model/peer.js'
import type { RouterOptions } from '../../../src/mux/compose.js'
import { createSealer, type Sealer } from '../../../src/mux/input-required/retry/sealed-state.js'
import { Router } from '../../../src/mux/router.js'
import type { Dial } from '../../../src/peers/dial.js'
import type { ToolExposureOptions } from '../../../src/search/expose-rules.js'
import { type FakeCall, FakeClient } from '../client/fake-client.js'
import { FakeClock, settled } from '../fake-clock.js'
import { FakeServer, type Script, serverOptions } from '../server/fake-server.js'
import { resource, tool } from '../values.js'

/** Returns a sealer with a known key and a fake clock. */
export const testSealer = (clock: FakeClock, fill = 1): Sealer =>
  createSealer({ keys: [{ kid: `k${fill}`, key: Buffer.alloc(32, fill) }], nowMs: () => clock.nowMs() })

const SHOWN: Exposure = {
  prefix: true,
  tags: [],
  uris: 'prefix',
  tools: { allow: undefined, deny: [], rename: {}, override: {} },
}

export interface WorldOptions {
  readonly isAlone?: boolean
  readonly pageSize?: number
  readonly clock?: FakeClock
  readonly log?: Logger
  readonly known?: ServerCache
  readonly bounds?: LimitCounters
  /** Tool exposure; all tools directly by default. */
  readonly toolExposure?: Partial<ToolExposureOptions>
  readonly views?: Views
  readonly resultsMax?: number
  readonly meter?: RouterOptions['meter']
  readonly rules?: RouterOptions['rules']
  readonly onSubscriptionDenied?: RouterOptions['onSubscriptionDenied']
  /** The optional features on the path of calls. */
  readonly path?: Partial<CallPathSettings>
}

/** Returns the dialling port of a router for scripted servers. */
const dialOf = (servers: readonly FakeServer[]): Dial => {
  return async ({ name }, greeting, listener, signal) => {
    const server = servers.find(one => one.name === name)
    if (server === undefined) throw new Fault('unavailable', 'it is not configured')
    return server.dial(greeting, listener, signal)
  }
}

/** Creates a router with defaults for everything irrelevant to a test. */
const testRouter = (
  given: Pick<RouterOptions, 'servers' | 'exposureOf' | 'dial'> &
    Partial<RouterOptions> & { clock: FakeClock },
  path: Partial<CallPathSettings> = {},
): Router =>
  new Router({
    isAlone: false,
    log: silentLogger,
    sealer: testSealer(given.clock),
    pageSize: 100,
    startupWaitMs: 5000,
    listWaitMs: 3000,
    features: parts => callPath(parts, { hasScopes: true, ...path }),
    ...given,
  })

/** A router with scripted servers and a fake clock. */
export class World {
  readonly clock: FakeClock
  readonly servers: readonly FakeServer[]
  readonly router: Router

  constructor(scripts: Readonly<Record<string, Script>>, options: WorldOptions = {}) {
    this.clock = options.clock ?? new FakeClock()
    this.servers = Object.entries(scripts).map(([name, script]) => new FakeServer(name, script))
    this.router = testRouter(
      {
        servers: this.servers.map(server => server.options),
        exposureOf: ({ name }) => ({ ...SHOWN, ...scripts[name]?.showing }),
        isAlone: options.isAlone ?? false,
        cache: options.known,
        dial: dialOf(this.servers),
        clock: this.clock,
        log: options.log ?? silentLogger,
        bounds: options.bounds,
        meter: options.meter,
        pageSize: options.pageSize ?? 100,
        clientViews: options.views,
        rules: options.rules,
        onSubscriptionDenied: options.onSubscriptionDenied,
        toolExposure:
          options.toolExposure &&
          new ToolExposure(
            { expose: {}, views: [], clients: [], ...options.toolExposure },
            client => options.views?.nameFor(client) ?? 'default',
          ),
        resultsMax: () => options.resultsMax ?? 48_000,
      },
      options.path,
    )
  }

  server(name: string): FakeServer {
    const server = this.servers.find(one => one.name === name)
    if (server === undefined) throw new Error(`no server ${name}`)
    return server
  }

  newcomer(about?: ConstructorParameters<typeof FakeClient>[1]): FakeClient {
    return new FakeClient(this.router, about)
  }

  /** Connects a client. */
  async client(about?: ConstructorParameters<typeof FakeClient>[1]): Promise<FakeClient> {
    const client = this.newcomer(about)
    void this.router.welcome(client)
    await settled()
    return client
  }

  /** Creates a client with self-contained requests, which does not connect. */
  modern(about: Omit<ConstructorParameters<typeof FakeClient>[1] & {}, 'revision'> = {}): FakeClient {
    return this.newcomer({ ...about, revision: '2026-07-28' })
  }

  /** Advances the time in small steps and runs all resulting work. */
  async pass(ms: number, stepMs = ms): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left))
      await settled()
    }
  }
}

/** Creates a router for servers with these aliases; keeps URIs unchanged by default, as most vectors do. */
export const createMux = (
  aliases: readonly string[],
  {
    dial,
    clock,
    isIsolated,
    isAlone,
    uris = 'preserve',
    rules,
  }: Pick<WorldOptions, 'isAlone' | 'rules'> & {
    readonly dial: Dial
    readonly clock: FakeClock
    readonly isIsolated: boolean
    readonly uris?: Exposure['uris']
  },
): Router =>
  testRouter({
    servers: aliases.map(alias => ({
      ...serverOptions(alias),
      sharing: isIsolated ? 'session' : 'principal',
    })),
    exposureOf: () => ({ ...SHOWN, uris }),
    isAlone: isAlone ?? false,
    dial,
    clock,
    rules,
  })

/** An input-required result as its client reads it. */
export interface Wish {
  readonly resultType: string
  readonly inputRequests?: Readonly<Record<string, { readonly method: string; readonly params?: unknown }>>
  readonly requestState: string
}

/** Returns a call's input-required result. */
export const wishOf = (call: FakeCall): Wish => {
  const [outcome] = call.ends
  if (call.ends.length !== 1 || outcome?.kind !== 'input')
    throw new Error(`was not asked for input: ${JSON.stringify(call.ended)}`)
  return valueOf(outcome.result) as Wish
}

/** Repeats a request with the state from its answer. */
export const again = (
  call: FakeCall,
  inputResponses?: object,
  more: { client?: FakeClient; params?: object; wantsProgress?: boolean; logLevel?: 'debug' | 'error' } = {},
): FakeCall => {
  const { client = call.client, params, ...rest } = more
  const first = call.params === undefined ? {} : (valueOf(call.params) as object)
  const { requestState } = wishOf(call)
  return client.call(call.method, { ...first, inputResponses, requestState, ...params }, rest)
}

/** Input requests by the requests that servers may answer with a question. */
export const REQUESTS = [
  ['tools/call', { name: 'a__x', arguments: { day: 'fri' } }],
  ['prompts/get', { name: 'a__p' }],
  ['resources/read', { uri: 'a+mem:r' }],
] as const

/** Sets up one server with one item of each kind, and a client whose questions are returned. */
export const withReturned = async (
  script: Script = {},
  options: WorldOptions & { capabilities?: ClientCapabilities; via?: Via } = {},
): Promise<{ world: World; server: FakeServer; client: FakeClient }> => {
  const { capabilities, via, ...rest } = options
  const all = { tools: [tool('x')], prompts: [{ name: 'p' }], resources: [resource('mem:r')] }
  const world = new World({ a: { ...all, ...script } }, rest)
  const client = await world.client({
    revision: '2026-07-28',
    ...(capabilities && { capabilities }),
    ...(via && { via }),
  })
  await client.get('tools/list')
  await client.get('prompts/list')
  await settled()
  return { world, server: world.server('a'), client }
}
