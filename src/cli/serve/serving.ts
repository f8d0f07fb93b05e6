import { stat } from 'node:fs/promises'
import type { Proxy, ProxyOptions } from '../../app/proxy.js'
import type { Spoken } from '../../app/proxy-contract.js'
import type { Reloader } from '../../app/reload.js'
import { type ConfigDiff, isSameSetting } from '../../config/diff.js'
import type { parseConfig as parse } from '../../config/parse.js'
import type { Loaded, LogLevel, ProxyConfig } from '../../config/types.js'
import type { Control, ControlledVariables } from '../../control/daemon/control.js'
import type { ProxyEnvironment } from '../../control/environment/environment.js'
import { systemClock } from '../../kernel/async/clock.js'
import { Fault } from '../../kernel/faults.js'
import type { Instance, OwnFacts } from '../../state/instance.js'
import type { AdjustableLogger } from '../../telemetry/logs/guarded-logger.js'
import { KeptLines } from '../../telemetry/logs/kept-lines.js'
import { type ConfigClaim, openPlace } from '../shared/config-claim.js'
import type { Usable } from '../shared/configuration.js'
import { print, printToStderr } from '../shared/output/output.js'
import { toolSwitchOf } from '../shared/running-tool-switch.js'
import { EXIT } from '../shared/verb.js'
import {
  addressesOf,
  addressSnippets,
  type ClientSnippet,
  type ListenAddress,
  listeningLines,
} from './announcement.js'

interface Served {
  readonly config: ProxyConfig
  readonly level: LogLevel
  readonly isAlone?: boolean
  readonly verb: 'serve' | 'stdio' | 'bridge'
  /** An existing view for the client on stdin. */
  readonly view?: string | undefined
  /** Configuration source; the file may change while the proxy runs. */
  readonly source?: Source
  /** Claim on the configuration, if it is exclusive. */
  readonly claim?: ConfigClaim | undefined
  /** Working folder that the client on stdio reports. */
  readonly workspace?: string | undefined
  /** Source of variables, if not this process alone. */
  readonly environment?: ProxyEnvironment | undefined
  /** Environment of programs, if not of this process alone. */
  readonly programEnv?: ProxyOptions['programEnv'] | undefined
}

interface Source {
  /** Absolute path. */
  readonly file: string
  /** Content at startup. */
  readonly loaded: Usable
  /** True if the command line overrides the file's log level. */
  readonly isLevelFixed: boolean
}

interface Snippets {
  /** Name of our entry in snippets. */
  readonly name: string
  readonly more?: string
  /** Transport whose address comes first; Streamable HTTP by default. */
  readonly first?: ClientSnippet
}

/** Serves until a signal. Prints the addresses to stdout and client snippets to stderr. */
export const serveNetwork = async (served: Served, { name, more, first }: Snippets): Promise<number> => {
  const { config, verb } = served
  const { http, socket } = config.listen
  const { proxy, shutdown, settle, open } = await start(served)
  // Starts a bridge's only server while we open the addresses.
  const spoken = verb === 'bridge' ? proxy.startOnly() : undefined
  try {
    // Serve clients that wait for the daemon first.
    const control = await open()
    await proxy.listenMetrics()
    const httpFront = http ? await proxy.listen() : undefined
    const socketFront = socket === undefined ? undefined : await proxy.listenSocket(socket)
    const addresses = addressesOf(httpFront, socketFront?.path, first)
    if (served.claim?.sink === undefined) {
      print(listeningLines(addresses))
      printToStderr(
        `\n${[addressSnippets(name, addresses), more ?? ''].filter(text => text !== '').join('\n\n')}\n`,
      )
    }
    settle(httpFront?.localUrl, control)
    void spoken?.then(told => printRevision(told, addresses[0]))
  } catch (thrown) {
    shutdown.end(EXIT.failure)
    await shutdown.ended
    throw thrown
  }
  return await shutdown.ended
}

/** Reports the protocol version of a bridged server; the log covers unreachable servers. */
const printRevision = (spoken: Spoken | undefined, first: ListenAddress | undefined): void => {
  if (spoken === undefined || first === undefined) return
  const [legacy = ''] = spoken.offered
  // HTTP+SSE needs sessions, which 2026-07-28 does not have.
  const offered = first.way === 'sse' ? `${legacy} and older` : spoken.offered.join(' and ')
  printToStderr(`${first.url}   speaks ${spoken.revision}, offered as ${offered}`)
}

/**
 * Serves the client on stdin and stdout until it disconnects or a signal arrives; shows `hint` on a terminal.
 */
export const serveStdioCommand = async (served: Served, hint: string): Promise<number> => {
  const { proxy, shutdown, settle, open } = await start(served)
  if (process.stdin.isTTY)
    printToStderr(`mcp-proxy speaks MCP on stdin and stdout, for a client.\n\n${hint}\n`)
  void proxy
    .serveStdio(served.view, served.workspace)
    .then(({ gone }) => gone)
    .then(fault => shutdown.end(fault === undefined ? EXIT.ok : EXIT.failure))
  // Must not delay the first answer, and its failure must not end the session.
  proxy.listenMetrics().catch((thrown: unknown) => printToStderr(`mcp-proxy: ${Fault.from(thrown).message}`))
  void open().then(control => {
    settle(undefined, control)
  })
  return await shutdown.ended
}

/**
 * Loads the proxy's modules while the configuration is read. One module after the other: each opens all its
 * files at once, and a process may have as few as 64 descriptors.
 */
export const loadParts = async () => {
  await import('../../app/dialer.js')
  const proxy = await import('../../app/proxy.js')
  const others = [
    import('../../telemetry/logs/logger.js'),
    import('../../app/shutdown.js'),
    import('../../state/state-key.js'),
  ] as const
  return [proxy, ...(await Promise.all(others))] as const
}

/**
 * Loads the reload code at startup: an update may have removed the files by the time the configuration
 * changes.
 */
const reloadParts = async () => ({
  ...(await import('../../app/reload.js')),
  ...(await import('../../config/parse.js')),
})

const start = async (served: Served) => {
  const { config, level, verb, source, claim, environment } = served
  const [{ createProxy }, { createLogger }, shutdowns, { stateDir }] = await loadParts()
  const reload = source && (await isFile(source.file)) ? await reloadParts() : undefined
  // On Windows, SIGHUP only means that the console was closed.
  const terminal = reload && process.platform !== 'win32' ? shutdowns.watchTerminal() : undefined
  const lines = new KeptLines()
  const isTerminal = process.stderr.isTTY
  const log = await createLogger({ level, isTerminal, sink: claim?.sink, keep: sink => lines.over(sink) })
  const proxy: Proxy = createProxy(config, {
    ...{ log, lines, stateDir: stateDir(process.env) },
    ...proxyOptions(served),
    configStatus: () => reloader?.status,
    configProblems: () => reloader?.problems ?? [],
    reread: () => followed?.reload,
    switchTool: source && reload && toolSwitchOf(source.file, () => reloader),
  })
  const reloader =
    source && reload && new reload.Reloader(reloading(proxy, log, { ...served, source }, reload))
  const followed = reloader && (await follow(reloader, proxy, environment))
  let instance: Promise<Instance | undefined> | undefined
  let opening: Promise<Control | undefined> | undefined
  const close = async (): Promise<void> => {
    reloader?.close()
    // Leave no socket or record behind, even if a client leaves at once or servers end slowly.
    const control = await opening?.catch(() => undefined)
    if (claim === undefined) await control?.close()
    await proxy.close()
    await (await instance)?.close()
    // Releases the configuration at once to a waiting proxy.
    if (claim !== undefined) await control?.close()
  }
  const drain = (): Promise<void> => {
    reloader?.close()
    return proxy.drain()
  }
  const open = (): Promise<Control | undefined> => {
    const parts = { claim, proxy, config, lines, log, ...followed, file: source?.file }
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

const proxyOptions = ({ config, isAlone = false, environment, programEnv }: Served): ProxyOptions => ({
  isAlone,
  // A bridge has no other servers to list meanwhile.
  ...(isAlone && { listWaitMs: config.startupWaitMs }),
  ...(programEnv && { programEnv }),
  ...(environment && { programEnv: need => environment.forPrograms(need) }),
})

/** Control operations on a reloadable configuration. */
const follow = async (reloader: Reloader, proxy: Proxy, environment: ProxyEnvironment | undefined) => {
  if (environment === undefined) return { reload: () => reloader.reload() }
  const { variablesOf, wantedBy } = await import('../../control/environment/environment.js')
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

/** Applies a changed file to a proxy. */
const reloading = (
  proxy: Proxy,
  log: AdjustableLogger,
  { config, source, environment }: Served & { readonly source: Source },
  { parseConfig }: { readonly parseConfig: typeof parse },
) => ({
  ...source,
  apply: (next: ProxyConfig): ConfigDiff => {
    // The command line fixes the listen address for the whole run.
    const isSame = isSameSetting('listen', source.loaded.config, next)
    return proxy.reload(isSame ? { ...next, listen: config.listen } : next)
  },
  onReloaded: ({ logLevel }: ProxyConfig): void => {
    if (source.isLevelFixed) return
    log.level = logLevel
    proxy.logLevelChanged()
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

/** Cleans up after dead proxies and records this one. Never rejects. */
const register = async (options: OwnFacts): Promise<Instance | undefined> => {
  try {
    const { registerInstance } = await import('../../state/processes/orphans.js')
    return registerInstance(options)
  } catch (thrown) {
    options.log.warn({ err: thrown }, 'cannot write the record of this proxy')
    return undefined
  }
}

/** Returns false for a pipe, for example, which cannot be read again. */
const isFile = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined)
  return found?.isFile() !== false
}
