import type { LogLevel, ProxyConfig } from '../config/types.js'
import { EXIT } from './exit-codes.js'
import { print, say } from './output.js'
import { httpSnippets } from './snippets.js'

/** What a face is put in front of. */
export interface Served {
  readonly config: ProxyConfig
  readonly level: LogLevel
  readonly isAlone?: boolean
}

/** Serves over HTTP until a signal comes. The first line on stdout says where; the words for people go to stderr. */
export const serveHttp = async (
  served: Served,
  names: { readonly name: string; readonly more?: string },
): Promise<number> => {
  const { proxy, shutdown } = await start(served)
  try {
    const { url } = await proxy.listen()
    print(`mcp-proxy listening on ${url}`)
    say(`\n${httpSnippets(names.name, url)}\n${names.more === undefined ? '' : `\n${names.more}\n`}`)
  } catch (thrown) {
    shutdown.end(EXIT.failure)
    await shutdown.ended
    throw thrown
  }
  return await shutdown.ended
}

/** Serves the client on our stdin and stdout until it leaves or a signal comes; `hint` is for a person at a terminal. */
export const serveStdio = async (served: Served, hint: string): Promise<number> => {
  const { proxy, shutdown } = await start(served)
  if (process.stdin.isTTY) say(`mcp-proxy speaks MCP on stdin and stdout, for a client.\n\n${hint}\n`)
  void proxy.serveStdio().gone.then(() => shutdown.end(EXIT.ok))
  return await shutdown.ended
}

/** What a face is made of; asked for before the configuration is read, so that both load at the same time. */
export const loadParts = () =>
  Promise.all([import('../app/proxy.js'), import('../app/logger.js'), import('../app/shutdown.js')])

const start = async ({ config, level, isAlone = false }: Served) => {
  const [{ createProxy }, { createLogger }, { createShutdown }] = await loadParts()
  const log = await createLogger({ level, isTerminal: process.stderr.isTTY })
  const proxy = createProxy(config, { log, isAlone })
  return { proxy, shutdown: createShutdown({ close: () => proxy.close(), log, codeOf: () => EXIT.ok }) }
}
