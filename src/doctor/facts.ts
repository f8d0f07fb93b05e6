import type { Loaded } from '../config/types.js'
import type { Entry } from '../setup/import/normalise.js'

/** This installation, and what else has our name. */
export interface InstallationFacts {
  readonly node: string
  readonly platform: NodeJS.Platform
  readonly version: string
  readonly folder: string
  /** Files of the package that are not there, or not of it. */
  readonly damaged: readonly string[]
  /** What `mcp-proxy` is in the folders of PATH, in their order. */
  readonly onPath: readonly NamesakeFacts[]
  readonly state: StateFacts
}

export interface NamesakeFacts {
  readonly path: string
  /** The folder and name of its package; undefined if it belongs to none. */
  readonly folder: string | undefined
  readonly package: string | undefined
}

export interface StateFacts {
  readonly path: string
  /** Undefined where the folder is not there yet, and may be made. */
  readonly mode: number | undefined
  readonly isOurs: boolean
  readonly isWritable: boolean
  /** Undefined where it cannot be told. */
  readonly freeBytes: number | undefined
}

/** The configuration file itself. */
export interface FileFacts {
  readonly file: string
  /** Why it cannot be read, in words; undefined if it can be. */
  readonly why: string | undefined
}

export interface ConfigFacts {
  readonly file: string
  readonly loaded: Loaded
  /** Servers that wait for variables. */
  readonly waiting: readonly { readonly name: string; readonly lacks: readonly string[] }[]
  /** Its entries as they stand in the file, also those that are disabled. */
  readonly entries: ReadonlyMap<string, Entry>
  /** Bits of rights; undefined where there is no such file, or no such thing as rights. */
  readonly mode: number | undefined
  readonly envFile: {
    readonly path: string
    readonly mode: number | undefined
    readonly values: Readonly<Record<string, string>>
  }
}

/** What the login shell says; values stay in here. */
export interface ShellFacts {
  readonly shell: string
  /** Why it cannot be asked, in words. */
  readonly why: string | undefined
  readonly values: Readonly<Record<string, string | undefined>>
}

/** Whether a server's program can be started. */
export interface ProgramFacts {
  readonly server: string
  readonly command: string
  readonly args: readonly string[]
  /** Where it was found. */
  readonly path: string | undefined
  /** Where it was looked for. */
  readonly searched: string
}

/** Our private socket and who is there. */
export interface DaemonFacts {
  readonly file: string
  readonly version: string
  readonly socket: string
  readonly lock: string
  readonly log: string
  /** Why the place cannot be used, in words, and the path that is meant. */
  readonly unusable: { readonly path: string; readonly why: string } | undefined
  readonly state: 'none' | 'dead' | 'serves' | 'silent' | 'denied'
  /** Whether the lock names a process that is gone. */
  readonly isLockDead: boolean
  /** Files that killed programs have left of the lock. */
  readonly drafts?: readonly string[]
  /** Of the silent one, as far as it is known. */
  readonly pid: number | undefined
  readonly born: string | undefined
  /** What it says of itself, as `/v1/status` has it; undefined unless it serves. */
  readonly status: DaemonStatus | undefined
  readonly sessions: readonly SessionFacts[]
}

/** The part of the state of a running proxy that checks look at. */
export interface DaemonStatus {
  readonly pid: number
  readonly version: string
  readonly limits?: Readonly<Record<string, { readonly hits: number } | undefined>>
  readonly servers: readonly DaemonServer[]
  readonly config?: {
    readonly file: string
    readonly lastReload?:
      | {
          readonly result: string
          readonly problems?: readonly string[]
          readonly needRestart?: readonly string[]
        }
      | undefined
  }
  readonly kept?: string | undefined
}

interface DaemonServer {
  readonly name: string
  readonly state: string
  readonly failures: number
  readonly why?: string | undefined
  readonly retryMs?: number | undefined
}

export interface SessionFacts {
  readonly client?: string | undefined
  readonly version: string
  readonly pid: number
  readonly workspace?: string | undefined
}

/** Other proxies and processes of this user. */
export interface ProcessFacts {
  /** Proxies of the same configuration that run, beside the one that has the socket. */
  readonly doubles: readonly { readonly pid: number; readonly born: string | undefined }[]
  /** What killed proxies have left. */
  readonly left: readonly {
    readonly pid: number
    readonly born: string | undefined
    readonly command: string
  }[]
}

export interface ServiceFacts {
  readonly file: string
  /** What is not as it would be today, in words. */
  readonly wrong: readonly string[]
  /** Whether it stays after the last logout; undefined where that is no question. */
  readonly isLingering: boolean | undefined
  /** Whether it is told to listen on one, whatever the file says. */
  readonly hasPort: boolean
}

export interface PortFacts {
  readonly host: string
  readonly port: number
  /** Whether the configuration says so, and it is not what only `serve` would take. */
  readonly isGiven: boolean
  /** Who has it, in words; undefined if nobody has, or a proxy of this configuration. */
  readonly takenBy: string | undefined
}

/** An attempt to start a daemon where nobody meets it. */
export interface TrialFacts {
  /** Why it does not start, with the last lines of its log; undefined if it does. */
  readonly why: string | undefined
}

/** A client, and what its files say. */
export interface ClientFacts {
  readonly id: string
  readonly label: string
  /** The file of the user, and that of the project in the current folder, if they are there. */
  readonly files: readonly ClientFile[]
  /** The API address that it uses instead of the usual one. */
  readonly apiHost: string | undefined
  /** A permission rule that denies tools behind the proxy, or asks before them. */
  readonly restriction?: string | undefined
  /** Its permission rules for servers that moved behind the proxy, as far as they match no tool any more. */
  readonly deadRules?: readonly DeadRule[]
}

/** A permission rule that names a server, or a tool of it, by the name that it had in its client. */
export interface DeadRule {
  readonly file: string
  readonly rule: string
  /** The names that must be next to it; undefined if they are not known. */
  readonly names: readonly string[] | undefined
}

export interface ClientFile {
  readonly path: string
  /** The folder of the project that it belongs to. */
  readonly project: string | undefined
  /** Why it cannot be read, in words with the place. */
  readonly broken: string | undefined
  /** Whether our journals know of an entry in this file. */
  readonly isInstalled: boolean
  /** Our entry stands where the client does not look for it, in words. */
  readonly misplaced: string | undefined
  readonly entries: readonly ClientEntry[]
}

export interface ClientEntry {
  readonly name: string
  /** As we would write it. */
  readonly entry: Entry
  /** What makes it the same as another one. */
  readonly identity: string
  readonly isOurs: boolean
  readonly isOff: boolean
  /** Absolute paths in our entry that last no longer, in words such as "is gone". */
  readonly frail: readonly { readonly path: string; readonly why: string }[]
  /** Of an entry of ours with an address, if nobody listens there. */
  readonly deadUrl: string | undefined
}

/** What came of starting or reaching a server. */
export interface Probe {
  readonly server: string
  readonly transport: string
  readonly ms: number
  /** `ready`, a reason of a login, or `failed`. */
  readonly state: string
  readonly why: string | undefined
  readonly stderrTail: readonly string[]
  /** The first line of its stdout that is no message. */
  readonly noise: string | undefined
  /** What had to be repaired in its lists, or was left out. */
  readonly repairs: readonly { readonly item: string; readonly words: string }[]
  readonly instructionBytes: number
  readonly tools: readonly ProbedTool[]
  /** For a remote server that cannot be reached: what asking it directly shows. */
  readonly address: AddressFacts | undefined
}

export interface AddressFacts {
  readonly status: number | undefined
  /** What is wrong, in words. */
  readonly why: string | undefined
  readonly fix: string | undefined
}

export interface ProbedTool {
  /** As clients see it. */
  readonly name: string
  /** The same, if it were not cut or cleaned. */
  readonly long: string
  readonly descriptionBytes: number
  /** Of name, description and schema. */
  readonly bytes: number
  readonly schema: unknown
  readonly hasHints: boolean
  /** Digests of description and schema. */
  readonly digests: { readonly description: string; readonly schema: string }
  /** The configured views that it is in. */
  readonly views: readonly string[]
  /** As first seen; undefined for a tool that is new. */
  readonly seen: { readonly description: string; readonly schema: string } | undefined
}

/** Everything that checks look at; undefined where it cannot be known. */
export interface Facts {
  readonly installation: InstallationFacts
  readonly file: FileFacts
  readonly config: ConfigFacts
  readonly shell: ShellFacts
  readonly programs: readonly ProgramFacts[]
  readonly docker: { readonly why: string | undefined }
  readonly daemon: DaemonFacts
  readonly processes: ProcessFacts
  readonly service: ServiceFacts
  readonly port: PortFacts
  readonly trial: TrialFacts
  readonly clients: readonly ClientFacts[]
  readonly probes: readonly Probe[]
}
