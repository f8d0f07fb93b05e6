import type { Loaded } from '../config/types.js'
import type { Cause } from '../diagnostics/explain.js'
import type { ModelText } from '../kernel/model-texts.js'
import type { ImportedEntry } from '../setup/import/normalise.js'
import type { CheckCode } from './finding.js'

/** This installation, and other programs with its name. */
export interface InstallationFacts {
  readonly node: string
  readonly platform: NodeJS.Platform
  readonly version: string
  readonly folder: string
  /** Files of the package that are missing or modified. */
  readonly damaged: readonly string[]
  /** Every `mcp-proxy` in the folders of PATH, in order. */
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
  /** Undefined if the folder does not exist yet but can be created. */
  readonly mode: number | undefined
  readonly isOurs: boolean
  readonly isWritable: boolean
  /** Undefined if unknown. */
  readonly freeBytes: number | undefined
}

export interface FileFacts {
  readonly file: string
  /** The reason it cannot be read; undefined if it can be. */
  readonly why: string | undefined
  readonly isMissing?: boolean
}

export interface ConfigFacts {
  readonly file: string
  readonly loaded: Loaded
  /** Servers with missing variables. */
  readonly waiting: readonly { readonly name: string; readonly lacks: readonly string[] }[]
  /** Its entries as written in the file, including disabled ones. */
  readonly entries: ReadonlyMap<string, ImportedEntry>
  /** Permission bits; undefined without such a file, or on systems without permissions. */
  readonly mode: number | undefined
  readonly envFile: {
    readonly path: string
    readonly mode: number | undefined
    readonly values: Readonly<Record<string, string>>
  }
}

/** The environment of the login shell; the values are not reported. */
export interface ShellFacts {
  readonly shell: string
  /** The reason the shell cannot be read. */
  readonly why: string | undefined
  readonly values: Readonly<Record<string, string | undefined>>
}

/** The program of a server. */
export interface ProgramFacts {
  readonly server: string
  readonly command: string
  readonly args: readonly string[]
  /** The path of the program, if found. */
  readonly path: string | undefined
  /** The places that were searched. */
  readonly searched: string
}

/** The private socket and its owner. */
export interface DaemonFacts {
  readonly file: string
  readonly version: string
  readonly socket: string
  readonly lock: string
  readonly log: string
  /** The path of an unusable socket, and the reason. */
  readonly unusable: { readonly path: string; readonly why: string } | undefined
  readonly state: 'none' | 'dead' | 'serves' | 'silent' | 'denied'
  /** True if the lock names a process that has ended. */
  readonly isLockDead: boolean
  /** Drafts of the lock left behind by killed programs. */
  readonly drafts?: readonly string[]
  /** The pid of a daemon that does not answer, if known. */
  readonly pid: number | undefined
  readonly born: string | undefined
  /** The `/v1/status` of the daemon; undefined unless it serves. */
  readonly status: DaemonStatus | undefined
  readonly sessions: readonly SessionFacts[]
}

/** The part of the status that checks use. */
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
  readonly stderr?: readonly string[] | undefined
}

export interface SessionFacts {
  readonly client?: string | undefined
  readonly version: string
  readonly pid: number
  readonly workspace?: string | undefined
}

/** Other proxies and processes of this user. */
export interface ProcessFacts {
  /** Other running proxies of the same configuration, without the private socket. */
  readonly doubles: readonly { readonly pid: number; readonly born: string | undefined }[]
  /** Processes left behind by killed proxies. */
  readonly left: readonly {
    readonly pid: number
    readonly born: string | undefined
    readonly command: string
  }[]
}

export interface ServiceFacts {
  readonly file: string
  /** Outdated parts of the service file. */
  readonly wrong: readonly string[]
  /** True if the service survives the last logout; undefined where this does not apply. */
  readonly isLingering: boolean | undefined
  /** True if its command sets a port. */
  readonly hasPort: boolean
}

export interface PortFacts {
  readonly host: string
  readonly port: number
  /** True if the configuration sets a port, and it is not only the default of `serve`. */
  readonly isGiven: boolean
  /** The process that uses the port; undefined if it is free or used by a proxy of this configuration. */
  readonly takenBy: string | undefined
}

/** A trial start of a daemon without clients. */
export interface TrialFacts {
  /** The reason it does not start, with the last lines of its log; undefined if it does. */
  readonly why: string | undefined
}

/** A client and its files. */
export interface ClientFacts {
  readonly id: string
  readonly label: string
  /** The existing files: of the user, and of the project in the current folder. */
  readonly files: readonly ClientFile[]
  /** The API address that replaces the default one. */
  readonly apiHost: string | undefined
  /** A permission rule that denies tools behind the proxy, or asks before calling them. */
  readonly restriction?: string | undefined
  /** Permission rules for moved servers that no longer match any tool. */
  readonly deadRules?: readonly DeadRule[]
}

/** A permission rule that uses the name of a server, or its tool, from before the move. */
export interface DeadRule {
  readonly file: string
  readonly rule: string
  /** The names to add to the rule; undefined if unknown. */
  readonly names: readonly string[] | undefined
}

export interface ClientFile {
  readonly path: string
  /** The folder of its project. */
  readonly project: string | undefined
  /** The reason it cannot be read, with the place. */
  readonly broken: string | undefined
  /** True if the install journals list an entry in this file. */
  readonly isInstalled: boolean
  /** Describes an entry of this proxy at a place that the client does not read. */
  readonly misplaced: string | undefined
  readonly entries: readonly ClientEntry[]
}

export interface ClientEntry {
  readonly name: string
  /** The entry as this version would write it. */
  readonly entry: ImportedEntry
  /** The identity of the server, equal for duplicates. */
  readonly identity: string
  readonly isOurs: boolean
  readonly isOff: boolean
  /** Absolute paths in the entry that are gone or temporary, with a text such as "is gone". */
  readonly frail: readonly { readonly path: string; readonly why: string }[]
  /** The address in the entry, if nothing listens there. */
  readonly deadUrl: string | undefined
}

/** The result of starting or reaching a server. */
export interface Probe {
  readonly server: string
  readonly transport: string
  readonly ms: number
  /** `ready`, the reason for a login, or `failed`. */
  readonly state: string
  readonly why: string | undefined
  /** The code of its absence; absent in older daemons. */
  readonly absence?: string | undefined
  readonly stderrTail: readonly string[]
  /** The first line of stdout that is not a JSON-RPC message. */
  readonly noise: string | undefined
  /** Items of its lists that were repaired or left out. */
  readonly repairs: readonly {
    readonly item: string
    readonly message: string
    /** Absent in older daemons. */
    readonly isLeftOut?: boolean
  }[]
  readonly instructionBytes: number
  readonly tools: readonly ProbedTool[]
  /** The differences from the lock file; absent without one. */
  readonly differences?: readonly ProbedDifference[] | undefined
  /** Its texts for models; absent in older daemons. */
  readonly texts?: readonly ModelText[] | undefined
  /** For an unreachable remote server: the result of a direct request. */
  readonly address: AddressFacts | undefined
}

/** A difference from the lock file. */
interface ProbedDifference {
  /** The server's own name; empty for its instructions. */
  readonly name: string
  readonly change: string
  /** The members that differ. */
  readonly fields: readonly string[]
}

export interface AddressFacts {
  readonly status: number | undefined
  /** Undefined if it answers. */
  readonly cause: Cause<Extract<CheckCode, `D035${string}`>> | undefined
}

export interface ProbedTool {
  /** The name that clients see. */
  readonly name: string
  /** The name before it was cut or cleaned. */
  readonly long: string
  readonly descriptionBytes: number
  /** Size of name, description and schema. */
  readonly bytes: number
  readonly schema: unknown
  readonly hasHints: boolean
  /** The configured views that contain it. */
  readonly views: readonly string[]
}

/** The input of all checks; undefined parts are unknown. */
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
