import { stat } from 'node:fs/promises'
import type { Proxy, ProxyOptions } from '../app/proxy.js'
import type { Spoken } from '../app/proxy-contract.js'
import type { Reloader } from '../app/reload.js'
import { type ConfigDiff, isSameSetting } from '../config/diff.js'
import type { parseConfig as parse } from '../config/parse.js'
import type { Loaded, LogLevel, ProxyConfig } from '../config/types.js'
import type { Control, ControlledVariables } from '../control/daemon/control.js'
import { KeptLines } from '../control/daemon/kept-lines.js'
import type { ProxyEnvironment } from '../control/environment/environment.js'
import { systemClock } from '../kernel/async/clock.js'
import { Fault } from '../kernel/faults.js'
import type { Instance, OwnFacts } from '../state/instance.js'
import type { AdjustableLogger } from '../telemetry/logs/guarded-logger.js'
import type { Usable } from './configuration.js'
import {
  addressesOf,
  addressSnippets,
  type ListenAddress,
  listeningLines,
  type Way,
} from './output/announcement.js'
import { print, say } from './output/output.js'
import { openPlace, type Seat } from './seat.js'
import { EXIT } from './verb.js'

interface Served {
  readonly config: ProxyConfig
  readonly level: LogLevel
  readonly isAlone?: boolean
  readonly verb: 'serve' | 'stdio' | 'bridge'
  /** The view of the client on stdin; one that exists. */
  readonly view?: string | undefined
  /** Where the configuration came from; it may change while we run. */
  readonly source?: Source
  /** The place of the configuration, if it is ours alone. */
  readonly seat?: Seat | undefined
  /** The folder that the client on stdio says it works in. */
  readonly workspace?: string | undefined
  /** Where its variables come from, if not from this process alone. */
  readonly environment?: ProxyEnvironment | undefined
}

interface Source {
  /** Absolute. */
  readonly file: string
  /** Its content at the start. */
  readonly loaded: Usable
  /** Whether the command line sets the log level, whatever the file says. */
  readonly isLevelFixed: boolean
}

interface Snippets {
  /** The name that they give us. */
  readonly name: string
  readonly more?: string
  /** The transport whose address comes first; Streamable HTTP if absent. */
  readonly first?: Way
}

/** Serves until a signal comes. Prints the addresses to stdout, and snippets for clients to stderr. */
export const serveNetwork = async (served: Served, { name, more, first }: Snippets): Promise<number> => {
  const { config, verb } = served
  const { http, socket } = config.listen
  const { proxy, shutdown, settle, open } = await start(served)
  // The only server of a bridge is there for whoever comes: it starts while we open what they come to.
  const spoken = verb === 'bridge' ? proxy.startOnly() : undefined
  try {
    // Clients that wait for the daemon come first.
    const control = await open()
    await proxy.listenMetrics()
    const httpFront = http ? await proxy.listen() : undefined
    const socketFront = socket === undefined ? undefined : await proxy.listenSocket(socket)
    const addresses = addressesOf(httpFront, socketFront?.path, first)
    if (served.seat?.sink === undefined) {
      print(listeningLines(addresses))
      say(`\n${[addressSnippets(name, addresses), more ?? ''].filter(text => text !== '').join('\n\n')}\n`)
    }
    settle(httpFront?.localUrl, control)
    void spoken?.then(told => tellRevision(told, addresses[0]))
  } catch (thrown) {
    shutdown.end(EXIT.failure)
    await shutdown.ended
    throw thrown
  }
  return await shutdown.ended
}

/** Says what a bridged server speaks; who cannot be reached stands in the log. */
const tellRevision = (spoken: Spoken | undefined, first: ListenAddress | undefined): void => {
  if (spoken === undefined || first === undefined) return
  const [legacy = ''] = spoken.offered
  // HTTP+SSE is a transport of sessions, which 2026-07-28 has none of.
  const offered = first.way === 'sse' ? `${legacy} and older` : spoken.offered.join(' and ')
  say(`${first.url}   speaks ${spoken.revision}, offered as ${offered}`)
}

/**
 * Serves the client on our stdin and stdout until it leaves or a signal comes; shows `hint` on a terminal.
 */
export const serveStdioCommand = async (served: Served, hint: string): Promise<number> => {
  const { proxy, shutdown, settle, open } = await start(served)
  if (process.stdin.isTTY) say(`mcp-proxy speaks MCP on stdin and stdout, for a client.\n\n${hint}\n`)
  void proxy
    .serveStdio(served.view, served.workspace)
    .gone.then(fault => shutdown.end(fault === undefined ? EXIT.ok : EXIT.failure))
  // Not on the way of the first answer, and no reason to leave a client without its servers.
  proxy.listenMetrics().catch((thrown: unknown) => say(`mcp-proxy: ${Fault.from(thrown).message}`))
  void open().then(control => {
    settle(undefined, control)
  })
  return await shutdown.ended
}

/**
 * Loads what a proxy needs, while the configuration is read. One part after the other: all files of one are
 * opened at once, and a process may have as few as 64 descriptors.
 */
export const loadParts = async () => {
  await import('../app/dialer.js')
  const proxy = await import('../app/proxy.js')
  const others = [
    import('../telemetry/logs/logger.js'),
    import('../app/shutdown.js'),
    import('../state/state-key.js'),
  ] as const
  return [proxy, ...(await Promise.all(others))] as const
}

/** Loaded at the start: an update may have taken them away by the time the file changes. */
const reloadParts = async () => ({
  ...(await import('../app/reload.js')),
  ...(await import('../config/parse.js')),
})

const start = async (served: Served) => {
  const { config, level, verb, source, seat, environment } = served
  const [{ createProxy }, { createLogger }, shutdowns, { stateDir }] = await loadParts()
  const reload = source && (await isFile(source.file)) ? await reloadParts() : undefined
  // On Windows SIGHUP means only that the console is closed.
  const terminal = reload && process.platform !== 'win32' ? shutdowns.watchTerminal() : undefined
  const lines = new KeptLines()
  const isTerminal = process.stderr.isTTY
  const log = await createLogger({ level, isTerminal, sink: seat?.sink, keep: sink => lines.over(sink) })
  const proxy: Proxy = createProxy(config, {
    ...{ log, lines },
    ...proxyOptions(served),
    stateDir: stateDir(process.env),
    configStatus: () => reloader?.status,
    configProblems: () => reloader?.problems ?? [],
    reread: () => followed?.reload,
  })
  const reloader =
    source && reload && new reload.Reloader(reloading(proxy, log, { ...served, source }, reload))
  const followed = reloader && (await follow(reloader, proxy, environment))
  let instance: Promise<Instance | undefined> | undefined
  let opening: Promise<Control | undefined> | undefined
  const close = async (): Promise<void> => {
    reloader?.close()
    // Neither a socket nor a record must be left, though a client leaves at once, or servers end slowly.
    const control = await opening?.catch(() => undefined)
    if (seat === undefined) await control?.close()
    await proxy.close()
    await (await instance)?.close()
    // Whoever waits for our place takes it at once.
    if (seat !== undefined) await control?.close()
  }
  const drain = (): Promise<void> => {
    reloader?.close()
    return proxy.drain()
  }
  /** Opens the private socket. */
  const open = (): Promise<Control | undefined> => {
    const parts = { seat, proxy, config, lines, log, ...followed, file: source?.file }
    opening = openPlace({ ...parts, end: code => shutdown.end(code) })
    return opening
  }
  /** Call once clients are served. */
  const settle = (url: string | undefined, control: Control | undefined): void => {
    reloader?.start()
    const { socket, token } = control?.place ?? {}
    const facts = { verb, url, config: source?.file, socket, token }
    instance ??= register({ facts, children: proxy.children, log })
  }
  const shutdown = shutdowns.createShutdown({
    drain,
    close,
    isService: true,
    onHangup: () => {
      if (terminal?.isClosed !== false || followed === undefined) return false
      log.info({ file: source?.file }, 'SIGHUP: reading the configuration again')
      proxy.audit.reopen()
      void followed.reload()
      return true
    },
    log,
    codeOf: () => EXIT.ok,
  })
  return { proxy, settle, shutdown, open }
}

const proxyOptions = ({ config, isAlone = false, environment }: Served): ProxyOptions => ({
  isAlone,
  // There are no other servers to show meanwhile.
  ...(isAlone && { listWaitMs: config.startupWaitMs }),
  ...(environment && { programEnv: () => environment.forPrograms() }),
})

/** What programs on the private socket may do with a configuration that can be read again. */
const follow = async (reloader: Reloader, proxy: Proxy, environment: ProxyEnvironment | undefined) => {
  if (environment === undefined) return { reload: () => reloader.reload() }
  const { variablesOf, wantedBy } = await import('../control/environment/environment.js')
  environment.onLate = () => void reloader.reload()
  const variables: ControlledVariables = {
    all: () => variablesOf(proxy.config),
    wanted: () => wantedBy(proxy.config),
    joined() {
      void environment.renewShell(proxy.config).then(isNew => (isNew ? reloader.reload() : undefined))
    },
    async bring(values, client) {
      if (environment.bring(values, client, proxy.config)) await reloader.reload()
    },
  }
  const reload = async (): Promise<void> => {
    environment.forgetShell()
    await reloader.reload()
  }
  return { reload, variables }
}

/** How a changed file reaches a proxy. */
const reloading = (
  proxy: Proxy,
  log: AdjustableLogger,
  { config, source, environment }: Served & { readonly source: Source },
  { parseConfig }: { readonly parseConfig: typeof parse },
) => ({
  ...source,
  apply: (next: ProxyConfig): ConfigDiff => {
    // The command line decides where to listen for as long as we run.
    const isSame = isSameSetting('listen', source.loaded.config, next)
    return proxy.reload(isSame ? { ...next, listen: config.listen } : next)
  },
  onReloaded: ({ logLevel }: ProxyConfig): void => {
    if (!source.isLevelFixed) log.level = logLevel
  },
  onRefused: (problems: readonly string[]): void => proxy.audit.reloaded({ result: 'refused', problems }),
  parse: async (text: string): Promise<Loaded> => {
    const { file } = source
    if (environment === undefined) return parseConfig(text, file, process.env)
    return await environment.load((env, later) => parseConfig(text, file, env, later))
  },
  clock: systemClock,
  log,
})

/** Ends what dead proxies left behind, and records what we would leave. Never rejects. */
const register = async (options: OwnFacts): Promise<Instance | undefined> => {
  try {
    const { registerInstance } = await import('../state/processes/orphans.js')
    return registerInstance(options)
  } catch (thrown) {
    options.log.warn({ err: thrown }, 'this proxy keeps no record of itself')
    return undefined
  }
}

/** A pipe, for example, cannot be read again. */
const isFile = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() !== false
}
