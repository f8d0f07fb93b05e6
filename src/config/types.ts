import type { Limits } from '../kernel/limits.js'
import type { ProblemId } from '../problems/table.js'

/**
 * How a connection to a server is shared between clients: one per principal, one per principal and folder,
 * one per session, or one for all.
 */
export type Sharing = 'principal' | 'workspace' | 'session' | 'all'

/** Whether a server's resource URIs get its prefix or pass through as they are. */
export type UriMode = 'prefix' | 'preserve'

/** When a server is started: with the first client that needs it, or with the proxy. */
export type Start = 'lazy' | 'eager'

/** Which era of the protocol a server is taken to speak: found out, or one for sure. */
export type Era = 'auto' | 'modern' | 'legacy'

/** Revisions of the protocol that can be asked for, oldest first. */
export const PROTOCOL_VERSIONS = [
  ...(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const),
  '2026-07-28',
] as const

/** A revision of the protocol. */
export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

/** The least important kind of log line that is written. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** A server that we start as a child process and talk to over its pipes. */
export interface StdioTransport {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment of the child; without prototype, so that any name can be looked up. */
  readonly env: Readonly<Record<string, string>>
  /** Names that the child must not inherit. */
  readonly unsetEnv: readonly string[]
  /**
   * Absolute; undefined means the folder in which the proxy runs. A file always gives one: its own folder.
   */
  readonly cwd: string | undefined
}

/**
 * A server that runs elsewhere: Streamable HTTP (`http`), HTTP+SSE of 2024-11-05 (`sse`), WebSocket (`ws`),
 * or whichever of the first two it answers to, in that order (`auto`).
 */
export interface UrlTransport {
  readonly kind: 'http' | 'sse' | 'ws' | 'auto'
  readonly url: string
  /** Sent with every request; without prototype. May hold secrets. */
  readonly headers: Readonly<Record<string, string>>
}

/** A server that runs on this machine already and is spoken to over a local socket, a line per message. */
export interface SocketTransport {
  readonly kind: 'socket'
  /** Of a unix domain socket, absolute; or of a named pipe, as Windows writes it. */
  readonly path: string
}

/** How a server is reached. */
export type ServerTransport = StdioTransport | UrlTransport | SocketTransport

/** What is said about a tool in place of what its server says. */
interface ToolOverride {
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Members that replace those of the tool's `annotations`; the others stay. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

/** Which tools of a server are shown, and how; all names are the server's own, before prefix and rename. */
export interface ToolRules {
  /** Globs; undefined shows all. */
  readonly allow: readonly string[] | undefined
  /** Globs; wins over `allow`. */
  readonly deny: readonly string[]
  /** From the server's name to ours; without prototype. */
  readonly rename: Readonly<Record<string, string>>
  /** By the server's name; without prototype. */
  readonly override: Readonly<Record<string, ToolOverride>>
}

/** How long we wait for a server, in milliseconds. */
export interface Timeouts {
  /**
   * From the start of the process or dial to the end of `initialize`; covers the installation of a package.
   */
  readonly connectMs: number
  /** For the answer to `initialize`, once the process runs or the address was reached. */
  readonly initializeMs: number
  /** For what it speaks, before a program is taken for one that does not know the question. */
  readonly probeMs: number
  /** For one page of a list. */
  readonly listMs: number
  /** For any sign of life during a call, progress included. `Infinity` is off and must not reach a timer. */
  readonly callMs: number
  /** For a whole call, whatever its progress. `Infinity` is off and must not reach a timer. */
  readonly totalMs: number
  /** Globs of a server's own tool names, with what replaces `callMs` for them; the first match applies. */
  readonly tools: readonly (readonly [glob: string, callMs: number])[]
  /** The silence of an idle server before it is pinged. `Infinity` is off and must not reach a timer. */
  readonly pingMs: number
}

/** When a program or connection that was lost is started again, and when that is given up. */
export interface Restart {
  /** The first wait; each further one is twice as long. */
  readonly firstMs: number
  readonly maxMs: number
  /** So many failures within `windowMs`, with nobody served in between, and it is given up. */
  readonly failures: number
  readonly windowMs: number
  /** How long after that it is tried once more, again and again. */
  readonly retryMs: number
}

/** The texts of a server as they stand in its file, with variables unexpanded. */
export interface ServerWritten {
  readonly command?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly url?: string
}

/** How tools are shown to clients: all of them, by search alone, or as suits the client. */
type ExposeMode = 'direct' | 'search' | 'auto'

/** What is said about how tools are shown; what is absent is left to what says less. */
export interface Expose {
  readonly mode?: ExposeMode | undefined
  /** Globs of the names of tools, as clients see them, that stay in the list whatever the mode. */
  readonly pin?: readonly string[] | undefined
  /** How much a list may cost a model before "auto" means "search". */
  readonly tokens?: number | undefined
}

/** A part of what there is, under its name. */
export interface ViewConfig {
  readonly name: string
  /** Globs of names, and tags, of servers; undefined for all. */
  readonly servers: readonly string[] | undefined
  readonly tags: readonly string[] | undefined
  /** Globs of the names of tools as clients see them. */
  readonly tools: { readonly allow: readonly string[] | undefined; readonly deny: readonly string[] }
  readonly annotations: Readonly<Record<string, unknown>>
  readonly resources: boolean
  readonly prompts: boolean
  /** Without all of these the view is not to be had. */
  readonly scopes: readonly string[]
  readonly expose: Expose | undefined
}

/** What is said about clients of a name. */
export interface ClientConfig {
  /** A glob of what they call themselves. */
  readonly name: string
  readonly view: string | undefined
  /** The most tools that they can do with. */
  readonly maxTools: number | undefined
  readonly expose: Expose | undefined
}

/** How we sign in at a server. Everything absent is found out. */
export interface OAuthConfig {
  readonly clientId?: string | undefined
  /** Secret. */
  readonly clientSecret?: string | undefined
  readonly issuer?: string | undefined
  readonly scopes?: readonly string[] | undefined
  /** On loopback, with its port. */
  readonly redirectUri?: string | undefined
  readonly clientMetadataUrl?: string | undefined
  readonly grant?:
    | 'authorization_code'
    | 'device'
    | 'client_credentials'
    | 'id-jag'
    | 'jwt-bearer'
    | undefined
  /** Secret. A private key in PEM, or the absolute path of a file with one. */
  readonly key?: string | undefined
  readonly idp?:
    | {
        readonly issuer: string
        readonly clientId: string
        /** Secret. */
        readonly clientSecret?: string | undefined
        /** The absolute path of a file. */
        readonly idToken: string
      }
    | undefined
  /** The absolute path of a file. */
  readonly assertion?: string | undefined
  /** What is sent in place of the resource that was found; false for nothing. */
  readonly resource?: string | false | undefined
  readonly endpoints?: Readonly<Record<string, string | undefined>> | undefined
  readonly allowPrivate?: boolean | undefined
  readonly dpop?: boolean | undefined
}

/** Whose login is used at a server: one for all, or that of each principal. */
type Credentials = 'shared' | 'per-principal'

/** One server as the rest of the program sees it: checked, expanded, nothing left to default. */
export interface ServerConfig {
  /** Its key in `mcpServers`; any text that is not empty. */
  readonly name: string
  /** A prefix of the user's choice, false for none, undefined to derive one from `name`. */
  readonly prefix: string | false | undefined
  readonly transport: ServerTransport
  readonly tools: ToolRules
  /** By which views name it. */
  readonly tags: readonly string[]
  /** What stands for tools that say nothing of themselves; `{name}`, `{title}`, `{server}`, `{arguments}`. */
  readonly description: string | undefined
  readonly access: ServerAccess
  /** Undefined if there is no login: for programs, beside an `Authorization` header, or where it is off. */
  readonly oauth: OAuthConfig | undefined
  readonly credentials: Credentials
  /** Whether principals without a login of their own are shown a tool that leads them there. */
  readonly signInTool: boolean
  readonly uris: UriMode
  readonly sharing: Sharing
  readonly start: Start
  readonly era: Era
  /** The revision to speak, where that is not left to the two of us; says the era, too. */
  readonly protocolVersion: ProtocolVersion | undefined
  readonly timeouts: Timeouts
  /** Bounds that are other for this server than for all. */
  readonly limits: Partial<Limits>
  readonly restart: Restart
  /** How long a connection that no client uses stays open, in milliseconds; `Infinity` for ever. */
  readonly idleStopMs: number
  /** Whether tools that say that they may be called twice are, if a call is lost while a person is asked. */
  readonly replay: boolean
  /** Whether clients that share a connection take turns. */
  readonly serialize: boolean
  /** Whether requests to it say which trace they belong to. */
  readonly propagate: boolean
  /** What stands in the file, before variables were expanded; only for printing. */
  readonly written?: ServerWritten
}

/** Where clients find us: the faces of one HTTP port, a local socket, or both. */
export interface ListenConfig {
  /** Whether there is an HTTP port at all; Streamable HTTP is always served on it. */
  readonly http: boolean
  readonly host: string
  /** 0 takes any free port. */
  readonly port: number
  /** `Host` names that are accepted beside those of the address that we listen on. */
  readonly allowedHosts: readonly string[]
  /** Addresses and networks (CIDR) of reverse proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies?: readonly string[] | undefined
  /** Web origins that may call us. */
  readonly allowedOrigins: readonly string[]
  /** Whether the port serves HTTP+SSE too, for clients that know nothing newer than 2024-11-05. */
  readonly sse: boolean
  /** Whether the port serves WebSocket too. */
  readonly ws: boolean
  /** Path of a unix domain socket or named pipe to listen on as well. */
  readonly socket: string | undefined
  /** Whether the file says anything of this: a daemon that clients start opens nothing that is not in it. */
  readonly isGiven: boolean
}

/** A token that the operator gave to a person; only its hash is known. */
export interface PersonalToken {
  readonly name: string
  /** SHA-256 of the token, in lower-case hexadecimal. */
  readonly sha256: string
  /** In milliseconds since 1970; `Infinity` if it does not expire. */
  readonly expiresMs: number
}

/** Someone whom the file knows. */
export interface Person {
  readonly name: string
  readonly tokens: readonly PersonalToken[]
  /** The same person with a token of an issuer. */
  readonly subjects: readonly { readonly issuer: string; readonly sub: string }[]
  /** Undefined for the base scope alone. */
  readonly scopes: readonly string[] | undefined
}

/** An authorization server whose tokens are accepted. */
export interface TokenIssuer {
  readonly issuer: string
  /** What its tokens may be for; undefined for the addresses of our endpoints. */
  readonly audience: readonly string[] | undefined
  /** Dotted paths in the claims of a token; the scopes are looked for in `scope` and `scp` if undefined. */
  readonly scopeClaim: string | undefined
  readonly groupsClaim: string | undefined
  /** Undefined to find it in the metadata of the issuer. */
  readonly jwksUri: string | undefined
  /** Whether only tokens of the type `at+jwt` are accepted (RFC 9068 §4). */
  readonly strictType: boolean
  /** For tokens that are no JWT (RFC 7662). */
  readonly introspection:
    | { readonly clientId: string; readonly clientSecret: string; readonly tokens?: string | undefined }
    | undefined
  /** Whether it may be reached without TLS. */
  readonly allowHttp: boolean
}

/** A program that authenticates as itself (`client_credentials`): by a secret, or by one of its keys. */
export interface MachineClient {
  readonly id: string
  /** SHA-256 of its secret, in lower-case hexadecimal. */
  readonly sha256: string | undefined
  /** Absolute path of a file with a JSON Web Key Set. */
  readonly jwks: string | undefined
  readonly scopes: readonly string[] | undefined
}

/** The authorization server of our own. */
export interface EmbeddedServer {
  /** Whether clients may register themselves. */
  readonly registration: 'open' | 'off'
  /** Redirect URIs with a private scheme that are accepted, exactly as written. */
  readonly privateRedirects: readonly string[]
  readonly clients: readonly MachineClient[]
  /** The OpenID provider at which people sign in. */
  readonly login:
    | {
        readonly issuer: string
        readonly clientId: string
        readonly clientSecret: string | undefined
        readonly groupsClaim: string | undefined
        readonly allowHttp: boolean
      }
    | undefined
}

/** Who may come in, and for what. */
export interface AuthConfig {
  /** Scheme, host and port under which clients reach us; undefined for the address that we listen on. */
  readonly publicUrl: string | undefined
  /** Whether programs of this machine need a credential. */
  readonly loopback: 'token' | 'open'
  /** The scope without which nothing is allowed. */
  readonly baseScope: string
  readonly people: readonly Person[]
  readonly issuers: readonly TokenIssuer[]
  /** Undefined for none. */
  readonly embedded: EmbeddedServer | undefined
  /** The scopes of members of a group. */
  readonly grants: readonly { readonly group: string; readonly scopes: readonly string[] }[]
  /** From a scope to those that it includes; without prototype. */
  readonly scopeImplies: Readonly<Record<string, readonly string[]>>
}

/** Who may see a server and call its tools; by scopes, which count only where there is `auth`. */
export interface ServerAccess {
  /** Without all of these nothing of the server exists. */
  readonly see: readonly string[]
  /** From globs of the server's own tool names to the further scopes that a call needs. */
  readonly call: readonly (readonly [glob: string, scopes: readonly string[]])[]
}

/** What is written down about each call. */
export interface AuditConfig {
  /** A file by its absolute path, or our stderr. */
  readonly to: 'stderr' | { readonly file: string }
  /** Whether the arguments of tools and prompts are written too. */
  readonly withArguments: boolean
}

/** The daemon that clients share. */
export interface DaemonConfig {
  /** How long it stays without clients once they have started it; `Infinity` for ever. */
  readonly idleMs: number
  /** Whether it asks the login shell of its user for variables. */
  readonly shellEnv: boolean
}

/** What is counted, and who else may read it. */
export interface MetricsConfig {
  /** Where nothing else is served; undefined for nowhere. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** Secret. What whoever reads it there must show; undefined for nothing. */
  readonly token: string | undefined
  /** Whether each tool has a histogram of its own. */
  readonly tools: 'counters' | 'histograms'
  /** The most series. */
  readonly series: number
}

/** How requests are traced, and where their spans go. */
export interface TracingConfig {
  /** The base address of an OTLP collector. */
  readonly endpoint: string
  readonly protocol: 'http/protobuf' | 'http/json'
  /** Secret. What the collector wants to be sent with. */
  readonly headers: Readonly<Record<string, string>>
  /** The share of traces that begin here, from 0 to 1. */
  readonly ratio: number
  /** Whether callers may decide; undefined: programs of this machine, and those with a credential. */
  readonly trustParents: boolean | undefined
  /** The most traces in a second. */
  readonly perSecond: number
  /** Which calls are recorded although they are not sampled. */
  readonly keep: readonly ('errors' | 'slow')[]
  /** Whether arguments and results may be recorded, if the environment wants that too. */
  readonly content: boolean
  /** Keys of baggage that pass from headers to headers. */
  readonly baggage: readonly string[]
}

/** A variable of a configuration file, and what was put in its place. */
export interface Variable {
  readonly name: string
  readonly value: string
  /** As `VariableSource.from`; or `default`, or `file`. */
  readonly from: string
}

/** A server that cannot run yet, because nobody has told the values of some variables. */
export interface WaitingServer {
  readonly name: string
  readonly transport: 'stdio' | 'http'
  /** The names of these variables. */
  readonly lacks: readonly string[]
}

/** How several replicas of `serve` are one proxy. */
export interface ClusterConfig {
  /** Of Redis or Valkey; may hold a password. */
  readonly url: string
  /** Secret. 32 bytes in base64 each; the first one seals, all of them open. */
  readonly keys: readonly string[]
  readonly peer: {
    readonly listen: { readonly host: string; readonly port: number }
    /** What the others connect to; undefined for what is listened on. */
    readonly advertise: { readonly host: string; readonly port: number } | undefined
    /** Absolute paths of files in PEM. */
    readonly tls: { readonly cert: string; readonly key: string; readonly ca: string } | undefined
  }
  /** How long a replica counts as alive after it was last heard of. */
  readonly leaseMs: number
  /** How long a replica that ends still takes clients. */
  readonly lingerMs: number
  /** What the names of all keys begin with. */
  readonly prefix: string
}

/** A whole file, resolved. */
export interface ProxyConfig {
  /** Those that are enabled and valid, in the order of the file. */
  readonly servers: readonly ServerConfig[]
  /** Those that will be as well once their variables are known; none where no values can come later. */
  readonly waiting: readonly WaitingServer[]
  readonly listen: ListenConfig
  /** How many items a page of a merged list holds. */
  readonly pageSize: number
  /** How long a new client waits for servers that are still starting. */
  readonly startupWaitMs: number
  /** How long calls that are under way may still take when the proxy is asked to end. */
  readonly drainMs: number
  /** How much peers may make us hold, or wait for. */
  readonly limits: Limits
  /** Undefined if nobody has to prove anything. */
  readonly auth: AuthConfig | undefined
  /** Undefined where one process is the proxy. */
  readonly cluster: ClusterConfig | undefined
  /** Undefined if nothing is written down about calls. */
  readonly audit: AuditConfig | undefined
  readonly logLevel: LogLevel
  /** Undefined if nothing is counted. */
  readonly metrics: MetricsConfig | undefined
  /** `env`: as the variables of OpenTelemetry say; undefined if nothing is traced. */
  readonly tracing: TracingConfig | 'env' | undefined
  /** Calls that take longer are logged; `Infinity` for none. */
  readonly slowMs: number
  /** Where logins at servers are kept: in files, or in the keychain of the user. */
  readonly credentialStore: 'file' | 'keychain'
  readonly daemon: DaemonConfig
  readonly views: readonly ViewConfig[]
  /** In the order of the file: the first that fits counts. */
  readonly clients: readonly ClientConfig[]
  readonly expose: Expose
  /** The most characters of a result of a tool that was called by search; `Infinity` for any. */
  readonly resultsMax: number
  /** Whether what servers said about themselves is kept on disk, so that they are known before they run. */
  readonly knownServers: boolean
  /**
   * What came out of the variables that stand in the file, wherever that is; secret unless it is known to be
   * none.
   */
  readonly variables: readonly Variable[]
  /**
   * Secret. What seals the states that clients carry for us: 32 bytes in base64 each, the newest first; none
   * to make one.
   */
  readonly stateKeys: readonly string[]
}

/** Something in a file that is wrong (error) or suspicious (warning); never holds an expanded value. */
export interface Problem {
  /** As in `Words`. */
  readonly id?: ProblemId
  readonly severity: 'error' | 'warning'
  readonly file: string
  /** From 1; 0 when the problem is the file and not a place in it. */
  readonly line: number
  /** From 1, in UTF-16 units as editors count; 0 like `line`. */
  readonly column: number
  /** Dotted path such as `mcpServers.github.args.1`; empty for the file as a whole. */
  readonly key: string
  readonly message: string
  /** What to do, in one sentence. */
  readonly fix: string
}

/** A server of the file that is not in `ProxyConfig.servers`, and whether that was wanted. */
export interface DisabledServer {
  readonly name: string
  readonly why: 'disabled' | 'invalid'
}

/** What came of reading a file. */
export interface Loaded {
  /** Undefined when the file as a whole is unusable, or its `auth`; then `problems` holds an error. */
  readonly config: ProxyConfig | undefined
  /** In the order of the file. */
  readonly problems: readonly Problem[]
  readonly disabled: readonly DisabledServer[]
  /** Whether the file itself cannot be read. */
  readonly isUnreadable?: boolean
}

/** Where variables are looked up; `process.env` fits. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Variables, and in a word or two where they come from, for people. */
export interface VariableSource {
  readonly from: string
  readonly values: Environment
}
