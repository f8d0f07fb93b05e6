import { stat } from 'node:fs/promises'
import type { Proxy } from '../app/proxy.js'
import type { Reloader, ReloaderOptions } from '../app/reload.js'
import type { Terminal } from '../app/shutdown.js'
import type { Instance } from '../app/state/instance.js'
import { type ConfigDiff, isSameSetting } from '../config/diff.js'
import type { LogLevel, ProxyConfig } from '../config/types.js'
import { systemClock } from '../kernel/async/clock.js'
import type { Usable } from './configuration.js'
import { addressesOf, addressSnippets, listeningLines, type Way } from './output/announcement.js'
import { print, say } from './output/output.js'
import { EXIT } from './verb.js'

/** What a face is put in front of. */
export interface Served {
  readonly config: ProxyConfig
  readonly level: LogLevel
  readonly isAlone?: boolean
  /** The word on the command line. */
  readonly verb: 'serve' | 'stdio' | 'bridge'
  /** Where the configuration came from; it may change while we run. */
  readonly source?: Source
}

/** What people and programs are told about it. */
export interface Announced {
  /** What snippets call us. */
  readonly name: string
  /** Another snippet. */
  readonly more?: string
  /** The way whose address is told first; Streamable HTTP if absent. */
  readonly first?: Way
}

/**
 * Serves wherever the configuration says, until a signal comes. Lines on stdout say where; the words for people go to
 * stderr.
 */
export const serveNetwork = async (served: Served, { name, more, first }: Announced): Promise<number> => {
  const { http, socket } = served.config.listen
  const { proxy, shutdown, settle } = await start(served)
  try {
    const face = http ? await proxy.listen() : undefined
    const socketFace = socket === undefined ? undefined : await proxy.listenSocket(socket)
    const addresses = addressesOf(face, socketFace?.path, first)
    print(listeningLines(addresses))
    say(`\n${[addressSnippets(name, addresses), more ?? ''].filter(text => text !== '').join('\n\n')}\n`)
    settle(face?.url)
  } catch (thrown) {
    shutdown.end(EXIT.failure)
    await shutdown.ended
    throw thrown
  }
  return await shutdown.ended
}

/** Serves the client on our stdin and stdout until it leaves or a signal comes; `hint` is for a person at a terminal. */
export const serveStdio = async (served: Served, hint: string): Promise<number> => {
  const { proxy, shutdown, settle } = await start(served)
  if (process.stdin.isTTY) say(`mcp-proxy speaks MCP on stdin and stdout, for a client.\n\n${hint}\n`)
  void proxy.serveStdio().gone.then(() => shutdown.end(EXIT.ok))
  settle(undefined)
  return await shutdown.ended
}

/**
 * What a face is made of; asked for before the configuration is read, so that both load at the same time. Part by part: all files
 * that one leads to are opened at once, and a process may be allowed only 64.
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
  const [{ createProxy }, { createLogger }, { createShutdown }, { stateDir }] = await loadParts()
  const following = source && (await loadFollowing(source))
  const log = await createLogger({ level, isTerminal: process.stderr.isTTY })
  const proxy: Proxy = createProxy(config, {
    log,
    isAlone,
    // There is nothing else to show meanwhile.
    ...(isAlone && { listWaitMs: config.startupWaitMs }),
    stateDir: stateDir(process.env),
    configStatus: () => reloader?.status,
  })
  const apply = (next: ProxyConfig): ConfigDiff => {
    // What the command line says about listening holds as long as we run.
    const isSame = isSameSetting('listen', source?.loaded.config, next)
    return proxy.reload(isSame ? { ...next, listen: config.listen } : next)
  }
  const onReloaded = ({ logLevel }: ProxyConfig): void => {
    if (source?.isLevelFixed === false) log.level = logLevel
  }
  const onRefused = (problems: readonly string[]): void =>
    proxy.audit.reloaded({ result: 'refused', problems })
  const reloader: Reloader | undefined = following?.follow({ apply, onReloaded, onRefused, log })
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
  /** Once clients are served: what earlier proxies left is ended, and what we would leave is written down. */
  const settle = (url: string | undefined): void => {
    reloader?.start()
    instance ??= import('../app/processes/orphans.js').then(
      ({ registerInstance }) =>
        registerInstance({ facts: { verb, url, config: source?.file }, children: proxy.children, log }),
      (thrown: unknown) => {
        log.warn({ err: thrown }, 'this proxy keeps no record of itself')
        return undefined
      },
    )
  }
  const onHangup = (): boolean => {
    if (reloader === undefined || following?.terminal.isClosed !== false) return false
    log.info({ file: source?.file }, 'SIGHUP: reading the configuration again')
    proxy.audit.reopen()
    reloader.reload()
    return true
  }
  const shutdown = createShutdown({ drain, close, isService: true, onHangup, log, codeOf: () => EXIT.ok })
  return { proxy, settle, shutdown }
}

/** A configuration file that is followed. */
interface Source {
  /** Absolute. */
  readonly file: string
  /** What it said at the start. */
  readonly loaded: Usable
  /** Whether the command line says how much is logged, whatever the file does. */
  readonly isLevelFixed: boolean
}

/** How a file is followed. */
interface Following {
  /** Its end is the end of what runs in it, although SIGHUP reloads. */
  readonly terminal: Terminal
  follow(what: Pick<ReloaderOptions, 'apply' | 'onReloaded' | 'onRefused' | 'log'>): Reloader
}

/** What it takes to follow a file; undefined for what is none, such as a pipe, and cannot be read again. */
const loadFollowing = async ({ file, loaded }: Source): Promise<Following | undefined> => {
  // On Windows SIGHUP means that the console is closed, and nothing else.
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() === false) return undefined
  const [{ Reloader }, { watchTerminal }] = await Promise.all([
    import('../app/reload.js'),
    import('../app/shutdown.js'),
  ])
  return {
    terminal: process.platform === 'win32' ? { isClosed: true } : watchTerminal(),
    follow: what => new Reloader({ ...what, file, loaded, env: process.env, clock: systemClock }),
  }
}
