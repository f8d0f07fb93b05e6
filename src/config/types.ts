import type { ProblemId } from '../diagnostics/causes.js'
import type { Limits } from '../kernel/limits.js'
import type { LockedServers } from '../kernel/lock-file.js'
import type { ProxyRules } from '../kernel/machine/forward-proxy.js'
import type { TlsSettings } from '../kernel/machine/tls-settings.js'
import type { Rule } from '../kernel/rule.js'
import type { PlainSettings } from './schema/settings.generated.js'

/** The clients that share a connection: of a principal, a principal and folder, a session, or all. */
export type Sharing = 'principal' | 'workspace' | 'session' | 'all'

/** The era of the protocol that a server supports; `auto` detects it. */
export type Era = ServerSettings['era']

/** Supported revisions of the protocol, oldest first. */
export const PROTOCOL_VERSIONS = [
  ...(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'] as const),
  '2026-07-28',
] as const

export type ProtocolVersion = (typeof PROTOCOL_VERSIONS)[number]

/** The lowest level that is logged. */
export type LogLevel = PlainSettings['log']['logLevel']

/** A server that the proxy starts as a child process. */
export interface StdioTransport {
  readonly kind: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  /** Added to the environment of the child. Without prototype, for lookups of any name. */
  readonly env: Readonly<Record<string, string>>
  /** Variables that the child does not inherit. */
  readonly unsetEnv: readonly string[]
  /** Set if the child inherits the whole environment of the proxy. */
  readonly inheritEnv?: boolean
  /** Absolute; the working folder of the proxy if undefined. Always set for servers from a file. */
  readonly cwd: string | undefined
}

/**
 * A remote server: Streamable HTTP (`http`), HTTP+SSE of 2024-11-05 (`sse`), WebSocket (`ws`), or Streamable
 * HTTP with HTTP+SSE as a fallback (`auto`).
 */
export interface UrlTransport {
  readonly kind: 'http' | 'sse' | 'ws' | 'auto'
  readonly url: string
  /** The path of a local socket that carries HTTP instead of the network; `url` is then on `localhost`. */
  readonly socketPath?: string | undefined
  /** Sent with every request. Without prototype. May hold secrets. */
  readonly headers: Readonly<Record<string, string>>
  /** True if `headers` has the user and password of the written URL. */
  readonly hasUrlLogin?: boolean | undefined
  /** Forward proxies for the server and its logins. May hold secrets. */
  readonly proxy?: ProxyRules | undefined
  readonly tls?: TlsSettings | undefined
  /** Patterns of client headers to pass on, in lower case. */
  readonly forwardHeaders?: readonly string[] | undefined
}

/** A running server on a local socket, with one message per line. */
export interface SocketTransport {
  readonly kind: 'socket'
  /** An absolute path of a unix domain socket, or the name of a Windows named pipe. */
  readonly path: string
}

export type ServerTransport = StdioTransport | UrlTransport | SocketTransport

/** Replaces parts of a tool's description. */
interface ToolOverride {
  readonly title?: string | undefined
  readonly description?: string | undefined
  /** Replaces members of the tool's `annotations`; the others stay. */
  readonly annotations?: Readonly<Record<string, unknown>> | undefined
}

/** Filters and renames tools. All names are the server's own, before prefix and rename. */
export interface ToolRules {
  /** Globs; all tools if undefined. */
  readonly allow: readonly string[] | undefined
  /** Globs; takes precedence over `allow`. */
  readonly deny: readonly string[]
  /** From the server's name to the name shown. Without prototype. */
  readonly rename: Readonly<Record<string, string>>
  /** By the server's name. Without prototype. */
  readonly override: Readonly<Record<string, ToolOverride>>
}

/** Timeouts of a server, in milliseconds. `Infinity` is off and must not reach a timer. */
export interface Timeouts extends TimeoutSettings {
  /** Replacements of `callMs` by globs of the server's own tool names; the first match applies. */
  readonly tools: readonly (readonly [glob: string, callMs: number])[]
}

type TimeoutSettings = PlainSettings['timeouts']

/** Limits and waits of restarts after failures. */
export type Restart = PlainSettings['restart']

/** Texts of a server's entry, with variables unexpanded, and the source of its environment. */
export interface ServerWritten {
  readonly command?: string
  readonly args?: readonly string[]
  readonly cwd?: string
  readonly url?: string
  /** The absolute path of `envFile`, and the names of its variables. */
  readonly envFile?: { readonly path: string; readonly names: readonly string[] }
}

type ExposeMode = 'direct' | 'search' | 'auto'

/** Settings of the tool list. Absent members come from the view, then from the top-level `expose`. */
export interface Expose {
  readonly mode?: ExposeMode | undefined
  /** Globs of tools that stay listed in every mode, by the names that clients see. */
  readonly pin?: readonly string[] | undefined
  /** Estimated tokens of a list above which "auto" means "search". */
  readonly tokens?: number | undefined
}

/** A named selection of servers, tools, resources and prompts. */
export interface ViewConfig {
  readonly name: string
  /** Globs of server names, and tags; all servers if both are undefined. */
  readonly servers: readonly string[] | undefined
  readonly tags: readonly string[] | undefined
  /** Globs of the names that clients see. */
  readonly tools: { readonly allow: readonly string[] | undefined; readonly deny: readonly string[] }
  readonly annotations: Readonly<Record<string, unknown>>
  readonly resources: boolean
  readonly prompts: boolean
  /** Required for access to the view. */
  readonly scopes: readonly string[]
  readonly expose: Expose | undefined
}

/** Settings for clients by name. */
export interface ClientConfig {
  /** A glob of the name in `clientInfo`. */
  readonly name: string
  readonly view: string | undefined
  /** Maximum number of tools that they can handle. */
  readonly maxTools: number | undefined
  readonly expose: Expose | undefined
}

/** The OAuth settings of a server. Absent members are discovered. */
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
  /** Replaces the discovered `resource` parameter; false sends none. */
  readonly resource?: string | false | undefined
  readonly endpoints?: Readonly<Record<string, string | undefined>> | undefined
  readonly allowPrivate?: boolean | undefined
  readonly dpop?: boolean | undefined
}

/** Plain settings of a server (schema/values.ts). */
type ServerSettings = PlainSettings['server']

/** A resolved server: validated, with variables expanded and defaults filled in. */
export interface ServerConfig extends ServerSettings {
  /** Its key in `mcpServers`; not empty. */
  readonly name: string
  readonly transport: ServerTransport
  readonly tools: ToolRules
  readonly access: ServerAccess
  /** Undefined for programs, next to an `Authorization` header, or if it is off. */
  readonly oauth: OAuthConfig | undefined
  readonly sharing: Sharing
  readonly timeouts: Timeouts
  /** Overrides of the proxy's limits. */
  readonly limits: Partial<Limits>
  readonly restart: Restart
  /** For printing only. */
  readonly written?: ServerWritten
}

/** The addresses of the proxy: an HTTP port, a local socket, or both. */
export interface ListenConfig extends ListenSettings {
  /** Addresses and networks (CIDR) of reverse proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies?: readonly string[] | undefined
  /** The path below which everything is served, such as `/tools`. */
  readonly path?: string | undefined
  /** False if servers have no addresses of their own. */
  readonly servers?: boolean | undefined
  /** Path of a unix domain socket or named pipe. */
  readonly socket: string | undefined
  /** Set if the file has `listen`. A daemon that clients start listens only then. */
  readonly isGiven: boolean
}

type ListenSettings = PlainSettings['listen']

/** A personal token; only its hash is known. */
export interface PersonalToken {
  readonly name: string
  /** SHA-256 of the token, in lower-case hexadecimal. */
  readonly sha256: string
  /** In milliseconds since 1970; `Infinity` if it does not expire. */
  readonly expiresMs: number
  /** Set for a token that is only valid on approval pages. */
  readonly for?: 'page' | undefined
}

/** A user in `auth.people`. */
export interface Person {
  readonly name: string
  readonly tokens: readonly PersonalToken[]
  /** Subjects of issuers that identify the same user. */
  readonly subjects: readonly { readonly issuer: string; readonly sub: string }[]
  /** Undefined for the base scope alone. */
  readonly scopes: readonly string[] | undefined
}

/** An authorization server whose tokens are accepted. */
export interface TokenIssuer {
  readonly issuer: string
  /** Accepted audiences; the addresses of the proxy if undefined. */
  readonly audience: readonly string[] | undefined
  /** A dotted path in the claims; `scope` or `scp` if undefined. */
  readonly scopeClaim: string | undefined
  readonly groupsClaim: string | undefined
  /** Read from the metadata of the issuer if undefined. */
  readonly jwksUri: string | undefined
  /** Accepts only tokens of the type `at+jwt` (RFC 9068 §4). */
  readonly strictType: boolean
  /** For tokens that are not JWTs (RFC 7662). */
  readonly introspection:
    | { readonly clientId: string; readonly clientSecret: string; readonly tokens?: string | undefined }
    | undefined
  /** Allows plain HTTP. */
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

/** The embedded authorization server. */
export interface EmbeddedServer extends EmbeddedSettings {
  readonly clients: readonly MachineClient[]
  /** The OpenID provider at which users sign in. */
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

type EmbeddedSettings = PlainSettings['embedded']

/** Access to the proxy, by scopes. */
export interface AuthConfig extends AuthSettings {
  /** Scheme, host and port under which clients reach the proxy; the listening address if undefined. */
  readonly publicUrl: string | undefined
  readonly people: readonly Person[]
  readonly issuers: readonly TokenIssuer[]
  readonly embedded: EmbeddedServer | undefined
  /** The scopes of members of a group. */
  readonly grants: readonly { readonly group: string; readonly scopes: readonly string[] }[]
  /** From a scope to the scopes that it includes. Without prototype. */
  readonly scopeImplies: Readonly<Record<string, readonly string[]>>
}

type AuthSettings = PlainSettings['auth']

/** The scopes that callers of a server need; checked only with `auth`. */
export interface ServerAccess {
  /** Required to see the server. */
  readonly see: readonly string[]
  /** Further scopes for calls, by globs of the server's own tool names. */
  readonly call: readonly (readonly [glob: string, scopes: readonly string[]])[]
}

/** The audit log. */
export interface AuditConfig {
  /** The absolute path of a file, or stderr; undefined if only a collector receives the lines. */
  readonly to: 'stderr' | { readonly file: string } | undefined
  /** Includes the arguments of tools and prompts. */
  readonly withArguments: boolean
  /** Refuses calls while lines cannot be written. */
  readonly isStrict?: boolean
  readonly otlp?: CollectorConfig | undefined
}

/** The lock file of server definitions. */
export interface LockConfig {
  /** The absolute path of the file. */
  readonly file: string
  readonly onChange: 'warn' | 'hide' | 'ask'
  readonly onNew: 'warn' | 'hide'
  /** Globs of the locked servers. */
  readonly servers: readonly string[]
  /** The keys on the path to each ignored part of the file; `*` represents any key. */
  readonly ignore: readonly (readonly string[])[]
  /** Changes with the content of the file. */
  readonly digest: string
  readonly locked: LockedServers
}

/** An OTLP collector. */
export interface CollectorConfig {
  /** The base address, without the path of a signal. */
  readonly endpoint: string
  /** Secret. Headers for the collector. */
  readonly headers: Readonly<Record<string, string>>
  readonly protocol: TracingSettings['protocol']
}

/** The daemon that clients share. */
type DaemonConfig = PlainSettings['daemon']

/** Metrics, and an additional address that serves them. */
export interface MetricsConfig extends MetricsSettings {
  /** A separate address for metrics only. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** Secret. The bearer token for that address. */
  readonly token: string | undefined
}

type MetricsSettings = PlainSettings['metrics']

/** Traces. */
export interface TracingConfig extends TracingSettings, CollectorConfig {}

type TracingSettings = PlainSettings['tracing']

/** An expanded variable of a configuration file. */
export interface Variable {
  readonly name: string
  readonly value: string
  /** As `VariableSource.from`; or `default`, or `file`. */
  readonly from: string
}

/** A server that waits for the values of variables. */
export interface WaitingServer {
  readonly name: string
  readonly transport: 'stdio' | 'http'
  /** The names of the missing variables. */
  readonly lacks: readonly string[]
}

/** Settings that make several replicas of `serve` one proxy. */
export interface ClusterConfig extends ClusterSettings {
  /** The address of Redis or Valkey; may hold a password. */
  readonly url: string
  /** Secret. 32 bytes in base64 each. The first key encrypts, all keys decrypt. */
  readonly keys: readonly string[]
  readonly peer: {
    readonly listen: { readonly host: string; readonly port: number }
    /** The address for the other replicas; the listening address if undefined. */
    readonly advertise: { readonly host: string; readonly port: number } | undefined
    /** Absolute paths of files in PEM. */
    readonly tls: { readonly cert: string; readonly key: string; readonly ca: string } | undefined
  }
}

type ClusterSettings = PlainSettings['cluster']

type ProxySettings = PlainSettings['proxy'] & PlainSettings['log'] & PlainSettings['results']

/** A resolved configuration file. */
export interface ProxyConfig extends ProxySettings {
  /** Enabled and valid servers, in the order of the file. */
  readonly servers: readonly ServerConfig[]
  /** Servers that wait for variables; empty if no values can come later. */
  readonly waiting: readonly WaitingServer[]
  readonly listen: ListenConfig
  /** Forward proxies for requests of the proxy itself. May hold secrets. */
  readonly proxy: ProxyRules | undefined
  readonly limits: Limits
  /** Without it, no caller needs a credential. */
  readonly auth: AuthConfig | undefined
  /** Undefined for a single process. */
  readonly cluster: ClusterConfig | undefined
  readonly audit: AuditConfig | undefined
  /** Absent without a lock file. */
  readonly lock?: LockConfig | undefined
  /** Undefined if metrics are off. */
  readonly metrics: MetricsConfig | undefined
  /** `env` uses the environment variables of OpenTelemetry. */
  readonly tracing: TracingConfig | 'env' | undefined
  readonly daemon: DaemonConfig
  readonly views: readonly ViewConfig[]
  /** In the order of the file; the first match applies. */
  readonly clients: readonly ClientConfig[]
  readonly expose: Expose
  /** In the order of the file; the first match decides. */
  readonly rules?: readonly Rule[] | undefined
  /** The values of all variables in the file; secret unless known not to be. */
  readonly variables: readonly Variable[]
  /** Secret. Keys for the states that clients carry: 32 bytes in base64 each, the newest first. */
  readonly stateKeys: readonly string[]
}

/** The facts of a numbered problem. */
export interface ProblemFacts {
  /** The variable that is not set. */
  readonly variable?: string
  /** The file that cannot be read, and the reason. */
  readonly path?: string
  readonly why?: string
}

/** An error or warning about a file. Never holds an expanded value. */
export interface Problem {
  /** As in `ProblemText`. */
  readonly id?: ProblemId
  /** As in `ProblemText`. */
  readonly facts?: ProblemFacts
  readonly severity: 'error' | 'warning'
  readonly file: string
  /** From 1; 0 for a problem of the whole file. */
  readonly line: number
  /** From 1, in UTF-16 units as editors count; 0 like `line`. */
  readonly column: number
  /** Dotted path such as `mcpServers.github.args.1`; empty for the file as a whole. */
  readonly key: string
  readonly message: string
  /** The fix, in one sentence. */
  readonly fix: string
}

/** A server that was left out, and the reason. */
export interface DisabledServer {
  readonly name: string
  readonly why: 'disabled' | 'invalid'
}

/** The result of reading a file. */
export interface Loaded {
  /** Undefined if the file is unusable; `problems` then holds an error. */
  readonly config: ProxyConfig | undefined
  /** The valid `auth` of a file that is unusable for another reason. */
  readonly auth?: AuthConfig | undefined
  /** In the order of the file. */
  readonly problems: readonly Problem[]
  readonly disabled: readonly DisabledServer[]
  /** Set if reading the file failed. */
  readonly isUnreadable?: boolean
}

/** Environment variables, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Variables, and a short name of their source for users. */
export interface VariableSource {
  readonly from: string
  readonly values: Environment
}
