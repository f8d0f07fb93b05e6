// Written by `npm run build` (bin/build.mjs) from the schema of the configuration.

/** The values of plain keys in the resolved configuration, by group. */
export interface PlainSettings {
  readonly proxy: {
    /** Items per page of a merged list. Many clients read only the first page. */
    readonly pageSize: number
    /** How long the `initialize` of a new client waits for servers that the proxy does not know yet. */
    readonly startupWaitMs: number
    /** Maximum time for calls in flight when the proxy stops, a client closes its half of stdio or a socket, or a server is removed. */
    readonly drainMs: number
    /** The store of logins at servers: files in the state folder (`file`), or the keychain of the user (`keychain`). The keychain needs the npm package `@napi-rs/keyring` next to the proxy. */
    readonly credentialStore: "file" | "keychain"
    /** Keep the capabilities and lists of servers on disk, so that `serve`, `stdio` and `bridge` can list them without starting them; see docs/configuration.md#known-servers. */
    readonly knownServers: boolean
  }
  readonly listen: {
    /** Listen for HTTP; `false` leaves only the socket. */
    readonly http: boolean
    /** The address to listen on. See docs/security.md before changing it. */
    readonly host: string
    /** The port to listen on; `0` takes any free port. */
    readonly port: number
    /** `Host` headers to accept in addition to the loopback names and `listen.host`, with or without a port. */
    readonly allowedHosts: readonly string[]
    /** Origins of web pages that may call the proxy, such as `https://app.example.com`; pages of this machine always may. */
    readonly allowedOrigins: readonly string[]
    /** Serve HTTP+SSE, the transport of 2024-11-05, at `/sse` and `/messages` on the same port. */
    readonly sse: boolean
    /** Serve WebSocket at `/ws` on the same port. */
    readonly ws: boolean
  }
  readonly log: {
    /** The lowest level that is logged to stderr. */
    readonly logLevel: "debug" | "info" | "warn" | "error" | "silent"
    /** Log calls that take longer as warnings, without their contents. */
    readonly slowMs: number
  }
  readonly metrics: {
    /** `histograms` records a histogram of durations for each tool, in addition to counters. */
    readonly tools: "counters" | "histograms"
    /** The maximum number of series of counters and histograms. */
    readonly series: number
  }
  readonly tracing: {
    /** The encoding of spans. */
    readonly protocol: "http/protobuf" | "http/json"
    /** The share of requests without a parent trace that are traced, from 0 to 1. */
    readonly ratio: number
    /** Let callers decide whether their requests are traced. If absent, only programs on this machine and callers with a credential decide. */
    readonly trustParents: boolean | undefined
    /** The maximum number of traces per second. */
    readonly perSecond: number
    /** Calls to record although they are not sampled: `errors`, and `slow` for those above `log.slow`. */
    readonly keep: readonly ("errors" | "slow")[]
    /** Record arguments and results of tools, if `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` allows it too. */
    readonly content: boolean
    /** Baggage keys to pass from headers of clients to headers of servers. */
    readonly baggage: readonly string[]
  }
  readonly daemon: {
    /** How long a daemon that a client started runs without clients; `off` for ever. */
    readonly idleMs: number
    /** Read `PATH`, and variables that the daemon lacks, from the login shell of its user; also for `serve` and `stdio`, if they do not find a program. See docs/daemon.md#variables. */
    readonly shellEnv: boolean
  }
  readonly results: {
    /** The maximum characters of a result that a client in search mode gets at once; `off` for no limit. */
    readonly resultsMax: number
  }
  readonly cluster: {
    /** How long a silent replica counts as alive. */
    readonly leaseMs: number
    /** How long a stopping replica keeps accepting clients, so that the load balancer notices in time. */
    readonly lingerMs: number
    /** The prefix of all keys in Redis or Valkey. */
    readonly prefix: string
  }
  readonly expose: {
    /** The estimated tokens of a list above which `auto` means `search`. */
    readonly tokens: number
  }
  readonly timeouts: {
    /** Maximum time for a server to start and answer `initialize`, including the installation of a package. */
    readonly connectMs: number
    /** Maximum time for the answer to `initialize`, once the program runs or the address was reached; as `connect` if only that is set. */
    readonly initializeMs: number
    /** Maximum time for a server to report its era. A program that does not answer is assumed to be `legacy`, an HTTP server to be unavailable. */
    readonly probeMs: number
    /** Maximum time for one page of a list. */
    readonly listMs: number
    /** Maximum silence during a call; each progress notification restarts the timer. With `off`, a call lasts as long as its client waits. */
    readonly callMs: number
    /** Maximum time for a whole call, regardless of progress. `off` for no limit. */
    readonly totalMs: number
    /** Silence of a server without requests in flight after which the proxy pings it. `off` never pings it. */
    readonly pingMs: number
  }
  readonly auth: {
    /** With `open`, programs on this machine need no token and act as the user of the proxy. Not allowed with a `publicUrl` of another host, since all requests of a reverse proxy come from this machine. */
    readonly loopback: "token" | "open"
    /** The scope that every token needs; requests without it get 403. */
    readonly baseScope: string
  }
  readonly embedded: {
    /** Dynamic client registration. With `off`, only `clients` and clients with a metadata document can connect. */
    readonly registration: "open" | "off"
    /** Accepted redirect URIs with a private scheme, compared exactly; `[]` for none. The default is the address that Cursor registers. */
    readonly privateRedirects: readonly string[]
  }
  readonly server: {
    /** The part before `__` in the names of tools and prompts, and before `+` in URIs; derived from the server’s name if absent. It has 1 to 24 letters, digits, `-` and `_`, begins with a letter, and neither contains `__` nor ends in `_`. `false` shows the server’s own names, except names that an earlier server uses. */
    readonly prefix: string | false | undefined
    /** Tags by which views select this server (docs/views.md) and a search finds its tools (docs/search.md). */
    readonly tags: readonly string[]
    /** A description for tools that have none, with `{name}`, `{title}`, `{server}` and `{arguments}` replaced; see docs/search.md#tools-without-a-description. */
    readonly description: string | undefined
    /** Believe the annotations of this server in `rules`; `false` believes only those in `tools.override`. */
    readonly trustAnnotations: boolean
    /** The login used at a remote server: one for all clients (`shared`), or one for each user (`per-principal`), with separate connections and lists. See docs/configuration.md#per-user-logins. */
    readonly credentials: "shared" | "per-principal"
    /** With `per-principal`, show users without a login a tool that leads to the sign-in page. */
    readonly signInTool: boolean
    /** `prefix` adds the prefix to resource URIs, `preserve` passes them through unchanged. */
    readonly uris: "prefix" | "preserve"
    /** `lazy` starts the server when it is first needed: at the `initialize` of the first client, or at the first call to a known server. `eager` starts it with the proxy and keeps it running. */
    readonly start: "lazy" | "eager"
    /** The era of the protocol: `modern` for 2026-07-28, without sessions; `legacy` for the revisions with `initialize`. `auto` uses the era of each client, if the server supports it. See docs/configuration.md#protocol-eras. */
    readonly era: "auto" | "modern" | "legacy"
    /** The revision of the protocol to use, such as `2025-06-18`; this also determines the era. A legacy revision is offered in `initialize`, and the server may answer with another. Negotiated if absent. */
    readonly protocolVersion: "2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25" | "2026-07-28" | undefined
    /** How long a connection that no client uses stays open; `off` for ever. A program stops with its connection, and starts again when it is called. */
    readonly idleStopMs: number
    /** Call a tool with `readOnlyHint` or `idempotentHint` again if its call was lost while a user was being asked, for example because the proxy was restarted. Prompts and resources are always requested again. */
    readonly replay: boolean
    /** Send the calls of clients that share a connection one after the other, so that each question reaches the right user; see docs/configuration.md#serialized-calls. */
    readonly serialize: boolean
    /** Add the trace context to requests that are traced; see docs/observability.md#traces. */
    readonly propagate: boolean
  }
  readonly restart: {
    /** Wait before a server that failed to start, or was lost before it answered any client, is started again; it doubles with each attempt. At least 100 ms. */
    readonly firstMs: number
    /** Maximum wait between two attempts. */
    readonly maxMs: number
    /** Maximum consecutive failures within `window` before the server is given up: calls then fail at once, with the reason and the last lines of its stderr. */
    readonly failures: number
    /** The time in which `failures` are counted. */
    readonly windowMs: number
    /** Wait before a server that was given up is started once more, while a client uses it. A call also starts it, 5 s after the last attempt. At least 1 s. */
    readonly retryMs: number
  }
}

/** For each value its key, its default, and for a duration the shortest that is valid. */
export const PLAIN_SETTINGS = {
  proxy: {
    pageSize: { key: 'pageSize', fallback: 10000 },
    startupWaitMs: { key: 'startupWait', fallback: 4500, leastMs: 0 },
    drainMs: { key: 'drain', fallback: 10000, leastMs: 0 },
    credentialStore: { key: 'credentialStore', fallback: "file" },
    knownServers: { key: 'knownServers', fallback: true },
  },
  listen: {
    http: { key: 'http', fallback: true },
    host: { key: 'host', fallback: "127.0.0.1" },
    port: { key: 'port', fallback: 8808 },
    allowedHosts: { key: 'allowedHosts', fallback: [] },
    allowedOrigins: { key: 'allowedOrigins', fallback: [] },
    sse: { key: 'sse', fallback: true },
    ws: { key: 'ws', fallback: true },
  },
  log: {
    logLevel: { key: 'level', fallback: "info" },
    slowMs: { key: 'slow', fallback: Number.POSITIVE_INFINITY, leastMs: 1 },
  },
  metrics: {
    tools: { key: 'tools', fallback: "counters" },
    series: { key: 'series', fallback: 2000 },
  },
  tracing: {
    protocol: { key: 'protocol', fallback: "http/protobuf" },
    ratio: { key: 'ratio', fallback: 1 },
    trustParents: { key: 'trustParents', fallback: undefined },
    perSecond: { key: 'perSecond', fallback: 100 },
    keep: { key: 'keep', fallback: [] },
    content: { key: 'content', fallback: false },
    baggage: { key: 'baggage', fallback: [] },
  },
  daemon: {
    idleMs: { key: 'idle', fallback: 600000, leastMs: 100 },
    shellEnv: { key: 'shellEnv', fallback: true },
  },
  results: {
    resultsMax: { key: 'max', fallback: 48000 },
  },
  cluster: {
    leaseMs: { key: 'lease', fallback: 6000, leastMs: 500 },
    lingerMs: { key: 'linger', fallback: 5000, leastMs: 0 },
    prefix: { key: 'prefix', fallback: "mp" },
  },
  expose: {
    tokens: { key: 'tokens', fallback: 10000 },
  },
  timeouts: {
    connectMs: { key: 'connect', fallback: 60000, leastMs: 1 },
    initializeMs: { key: 'initialize', fallback: 60000, leastMs: 1 },
    probeMs: { key: 'probe', fallback: 10000, leastMs: 1 },
    listMs: { key: 'list', fallback: 15000, leastMs: 1 },
    callMs: { key: 'call', fallback: Number.POSITIVE_INFINITY, leastMs: 1 },
    totalMs: { key: 'total', fallback: Number.POSITIVE_INFINITY, leastMs: 1 },
    pingMs: { key: 'ping', fallback: 30000, leastMs: 1 },
  },
  auth: {
    loopback: { key: 'loopback', fallback: "token" },
    baseScope: { key: 'baseScope', fallback: "mcp" },
  },
  embedded: {
    registration: { key: 'registration', fallback: "open" },
    privateRedirects: { key: 'privateRedirects', fallback: ["cursor://anysphere.cursor-mcp/oauth/callback"] },
  },
  server: {
    prefix: { key: 'prefix', fallback: undefined },
    tags: { key: 'tags', fallback: [] },
    description: { key: 'description', fallback: undefined },
    trustAnnotations: { key: 'trustAnnotations', fallback: true },
    credentials: { key: 'credentials', fallback: "shared" },
    signInTool: { key: 'signInTool', fallback: true },
    uris: { key: 'uris', fallback: "prefix" },
    start: { key: 'start', fallback: "lazy" },
    era: { key: 'era', fallback: "auto" },
    protocolVersion: { key: 'protocolVersion', fallback: undefined },
    idleStopMs: { key: 'idleStop', fallback: 900000, leastMs: 1 },
    replay: { key: 'replay', fallback: false },
    serialize: { key: 'serialize', fallback: false },
    propagate: { key: 'propagate', fallback: true },
  },
  restart: {
    firstMs: { key: 'first', fallback: 500, leastMs: 100 },
    maxMs: { key: 'max', fallback: 30000, leastMs: 100 },
    failures: { key: 'failures', fallback: 5 },
    windowMs: { key: 'window', fallback: 60000, leastMs: 1 },
    retryMs: { key: 'retry', fallback: 60000, leastMs: 1000 },
  },
} as const

/** The reload class of each value, by its name in the resolved configuration. */
export const RELOAD = {
  server: {
    transport: { key: 'command', reload: 'replaced' },
    prefix: { key: 'prefix', reload: 'reshown' },
    tools: { key: 'tools', reload: 'reshown' },
    tags: { key: 'tags', reload: 'reshown' },
    description: { key: 'description', reload: 'reshown' },
    trustAnnotations: { key: 'trustAnnotations', reload: 'reshown' },
    access: { key: 'access', reload: 'reshown' },
    oauth: { key: 'oauth', reload: 'replaced' },
    credentials: { key: 'credentials', reload: 'replaced' },
    signInTool: { key: 'signInTool', reload: 'replaced' },
    uris: { key: 'uris', reload: 'reshown' },
    sharing: { key: 'sharing', reload: 'replaced' },
    start: { key: 'start', reload: 'retuned' },
    era: { key: 'era', reload: 'replaced' },
    protocolVersion: { key: 'protocolVersion', reload: 'replaced' },
    timeouts: { key: 'timeouts', reload: 'retuned' },
    limits: { key: 'limits', reload: 'retuned' },
    restart: { key: 'restart', reload: 'retuned' },
    idleStopMs: { key: 'idleStop', reload: 'retuned' },
    replay: { key: 'replay', reload: 'retuned' },
    serialize: { key: 'serialize', reload: 'retuned' },
    propagate: { key: 'propagate', reload: 'retuned' },
  },
  proxy: {
    listen: { key: 'listen', reload: 'restart' },
    pageSize: { key: 'pageSize', reload: 'live' },
    startupWaitMs: { key: 'startupWait', reload: 'live' },
    drainMs: { key: 'drain', reload: 'live' },
    proxy: { key: 'proxy', reload: 'live' },
    auth: { key: 'auth', reload: 'restart' },
    cluster: { key: 'cluster', reload: 'restart' },
    audit: { key: 'audit', reload: 'restart' },
    credentialStore: { key: 'credentialStore', reload: 'restart' },
    knownServers: { key: 'knownServers', reload: 'restart' },
    logLevel: { key: 'log.level', reload: 'live' },
    slowMs: { key: 'log.slow', reload: 'live' },
    metrics: { key: 'metrics', reload: 'restart' },
    tracing: { key: 'tracing', reload: 'restart' },
    daemon: { key: 'daemon', reload: 'restart' },
    views: { key: 'views', reload: 'live' },
    clients: { key: 'clients', reload: 'live' },
    expose: { key: 'expose', reload: 'live' },
    resultsMax: { key: 'results.max', reload: 'live' },
    rules: { key: 'rules', reload: 'live' },
    lock: { key: 'lock', reload: 'live' },
    limits: { key: 'limits', reload: 'live' },
    stateKeys: { key: 'requestState.keys', reload: 'restart' },
  },
} as const
