import { stat } from 'node:fs/promises'
import type { Proxy } from '../app/proxy.js'
import type { Instance, InstanceOptions } from '../app/state/instance.js'
import { type ConfigDiff, isSameSetting } from '../config/diff.js'
import type { LogLevel, ProxyConfig } from '../config/types.js'
import { systemClock } from '../kernel/async/clock.js'
import type { Usable } from './configuration.js'
import { addressesOf, addressSnippets, listeningLines, type Way } from './output/announcement.js'
import { print, say } from './output/output.js'
import { EXIT } from './verb.js'

interface Served {
  readonly config: ProxyConfig
  readonly level: LogLevel
  readonly isAlone?: boolean
  readonly verb: 'serve' | 'stdio' | 'bridge'
  /** Where the configuration came from; it may change while we run. */
  readonly source?: Source
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
  const { http, socket } = served.config.listen
  const { proxy, shutdown, settle } = await start(served)
  try {
    const httpFront = http ? await proxy.listen() : undefined
    const socketFront = socket === undefined ? undefined : await proxy.listenSocket(socket)
    const addresses = addressesOf(httpFront, socketFront?.path, first)
    print(listeningLines(addresses))
    say(`\n${[addressSnippets(name, addresses), more ?? ''].filter(text => text !== '').join('\n\n')}\n`)
    settle(httpFront?.url)
  } catch (thrown) {
    shutdown.end(EXIT.failure)
    await shutdown.ended
    throw thrown
  }
  return await shutdown.ended
}

/**
 * Serves the client on our stdin and stdout until it leaves or a signal comes; shows `hint` on a terminal.
 */
export const serveStdio = async (served: Served, hint: string): Promise<number> => {
  const { proxy, shutdown, settle } = await start(served)
  if (process.stdin.isTTY) say(`mcp-proxy speaks MCP on stdin and stdout, for a client.\n\n${hint}\n`)
  void proxy.serveStdio().gone.then(() => shutdown.end(EXIT.ok))
  settle(undefined)
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
    import('../app/logger.js'),
    import('../app/shutdown.js'),
    import('../app/state/state-key.js'),
  ] as const
  return [proxy, ...(await Promise.all(others))] as const
}

const start = async ({ config, level, isAlone = false, verb, source }: Served) => {
  const [{ createProxy }, { createLogger }, shutdowns, { stateDir }] = await loadParts()
  const { Reloader } = source && (await isFile(source.file)) ? await import('../app/reload.js') : {}
  // On Windows SIGHUP means only that the console is closed.
  const terminal = Reloader && process.platform !== 'win32' ? shutdowns.watchTerminal() : undefined
  const log = await createLogger({ level, isTerminal: process.stderr.isTTY })
  const proxy: Proxy = createProxy(config, {
    log,
    isAlone,
    // There are no other servers to show meanwhile.
    ...(isAlone && { listWaitMs: config.startupWaitMs }),
    stateDir: stateDir(process.env),
    configStatus: () => reloader?.status,
  })
  const apply = (next: ProxyConfig): ConfigDiff => {
    // The command line decides where to listen for as long as we run.
    const isSame = isSameSetting('listen', source?.loaded.config, next)
    return proxy.reload(isSame ? { ...next, listen: config.listen } : next)
  }
  const onReloaded = ({ logLevel }: ProxyConfig): void => {
    if (source?.isLevelFixed === false) log.level = logLevel
  }
  const onRefused = (problems: readonly string[]): void =>
    proxy.audit.reloaded({ result: 'refused', problems })
  const reloader =
    Reloader && source
      ? new Reloader({ ...source, apply, onReloaded, onRefused, log, env: process.env, clock: systemClock })
      : undefined
  let instance: Promise<Instance | undefined> | undefined
  const close = async (): Promise<void> => {
    reloader?.close()
    await proxy.close()
    await (await instance)?.close()
  }
  const drain = (): Promise<void> => {
    reloader?.close()
    return proxy.drain()
  }
  /** Call once clients are served. */
  const settle = (url: string | undefined): void => {
    reloader?.start()
    instance ??= register({ facts: { verb, url, config: source?.file }, children: proxy.children, log })
  }
  const onHangup = (): boolean => {
    if (reloader === undefined || terminal?.isClosed !== false) return false
    log.info({ file: source?.file }, 'SIGHUP: reading the configuration again')
    proxy.audit.reopen()
    reloader.reload()
    return true
  }
  const shutdown = shutdowns.createShutdown({
    drain,
    close,
    isService: true,
    onHangup,
    log,
    codeOf: () => EXIT.ok,
  })
  return { proxy, settle, shutdown }
}

/** Ends what dead proxies left behind, and records what we would leave. Never rejects. */
const register = async (
  options: Omit<InstanceOptions, 'folder' | 'table'>,
): Promise<Instance | undefined> => {
  try {
    const { registerInstance } = await import('../app/processes/orphans.js')
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
