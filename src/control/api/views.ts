import type { Item, Listed } from '../../catalog/listed.js'
import { mergeParts } from '../../catalog/lists/merge.js'
import { redactServer } from '../../config/read/secrets.js'
import type { ServerConfig } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import { type JsonText, memberOf, textMember } from '../../kernel/json/text.js'
import { LIMIT_NAMES, LIMIT_TABLE, type Limits, shownLimit } from '../../kernel/limits.js'
import { silentLogger } from '../../kernel/logger.js'
import { memoize } from '../../kernel/memoize.js'
import { MASK, mask, sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Client } from '../../model/links.js'
import type { ListName } from '../../model/listing.js'
import type { Server } from '../../peers/server.js'
import { processBytes } from '../../state/processes/process-bytes.js'
import { callsInFlight } from '../../telemetry/status/calls-in-flight.js'
import { exposedTo } from '../../telemetry/status/exposed.js'
import { toolTokens } from '../../telemetry/status/tool-tokens.js'
import type { ControlApiContext } from './context.js'
import { serverLines, serverOfProblem } from './places.js'
import { troublesIn } from './troubles.js'

/**
 * Returns the servers with their status, recent requests, disabled servers and the problems of the
 * configuration file, which can leave servers out.
 */
export const serversView = (context: ControlApiContext) => {
  const { router, clock } = context
  const nowMs = clock.nowMs()
  const history = router.meter?.history
  const lines = serverLines(context)
  const { slowMs, servers: configured } = context.config()
  const servers = context.status().servers.map(status => {
    const server = router.pool.servers.find(({ name }) => name === status.name)
    const connections = [...(server?.connections ?? [])]
    const tools = server && router.catalog.summary(server, connections).listed('tools')
    const durations = history?.servedBy(status.name)
    return {
      ...status,
      ...lineOf(lines, status.name),
      target: targetIn(configured, status.name),
      ...restartsOf(server, nowMs),
      rssBytes: status.pids.reduce((sum, pid) => sum + processBytes(pid), 0),
      inFlight: connections.reduce((sum, { inFlight }) => sum + inFlight, 0),
      leftOut: tools?.leftOut,
      hidden: hiddenTools(tools),
      p50Ms: durations?.quantile(0.5),
      p99Ms: durations?.quantile(0.99),
      slots: history?.slotsOf(status.name)?.read(nowMs) ?? [],
    }
  })
  const off = (names: Iterable<string>, where: 'file' | 'here') =>
    [...names].map(name => ({ name, state: 'disabled' as const, where, ...lineOf(lines, name) }))
  const disabled = [
    ...off(context.disabled(), 'here'),
    ...off(context.configStatus?.()?.disabled ?? [], 'file'),
  ]
  const known = new Set([...servers, ...disabled].map(({ name }) => name))
  return {
    version: 1,
    slotMs: 10_000,
    /** Duration of a slow call. Undefined if calls are never reported as slow. */
    slowMs: Number.isFinite(slowMs) ? slowMs : undefined,
    overheadP99Ms: router.meter?.overheadMs(0.99),
    /** Failed requests without a server. */
    refused: history?.refused.read(nowMs) ?? [],
    servers: [...servers, ...misconfigured(context, known, lines), ...disabled],
    problems: context.problems(),
    troubles: troublesIn(context),
  }
}

const lineOf = (
  lines: ReadonlyMap<string, number>,
  name: string,
): { readonly line?: number | undefined } => ({ line: lines.get(name) })

/** Returns the servers that errors in the file leave out. */
const misconfigured = (
  context: ControlApiContext,
  known: ReadonlySet<string>,
  lines: ReadonlyMap<string, number>,
) => {
  const broken = context
    .problems()
    .filter(({ severity }) => severity === 'error')
    .flatMap(problem => serverOfProblem(problem, lines) ?? [])
  return [...new Set(broken)]
    .filter(name => !known.has(name))
    .map(name => ({ name, state: 'misconfigured' as const, where: 'file' as const, ...lineOf(lines, name) }))
}

/** Returns the command of a server with its arguments, or its address, without secrets. */
const targetOf = memoize((server: ServerConfig): string => {
  const { transport } = redactServer(server)
  const target =
    'command' in transport ? [transport.command, ...transport.args].join(' ') : addressOf(transport)
  return sanitizeLine(target, 512)
})

const targetIn = (servers: readonly ServerConfig[], name: string): string | undefined => {
  const server = servers.find(each => each.name === name)
  return server && targetOf(server)
}

const addressOf = (transport: Exclude<ServerConfig['transport'], { readonly kind: 'stdio' }>): string =>
  'url' in transport ? transport.url : transport.path

/** Returns how often a server was started again since the proxy started, and when last. */
const restartsOf = (server: Server | undefined, nowMs: number) => {
  const found = server?.bounds.remarksOn(server.name).find(({ kind }) => kind === 'restarted')
  return {
    restarts: found?.count ?? 0,
    restartedMs: found && Math.round(nowMs - found.lastMs),
  }
}

/** Maximum hidden tools shown. */
const MOST_HIDDEN = 50

/** Returns the server's own names of hidden tools, in its order, at most `MOST_HIDDEN`. */
const hiddenNames = memoize((listed: Listed): readonly string[] => {
  if (Object.values(listed.leftOut).every(count => count === 0)) return []
  const shown = new Set(listed.items.map(({ own }) => own))
  const names = new Set(
    listed.raw.map(text => textMember(text, 'name') ?? '').filter(name => !shown.has(name)),
  )
  return [...names].slice(0, MOST_HIDDEN).map(name => sanitizeLine(name, 128))
})

const hiddenTools = (listed: Listed | undefined): readonly string[] =>
  listed === undefined ? [] : hiddenNames(listed)

/** Returns the merged list without access rules. */
export const mergedItems = ({ router }: ControlApiContext, list: ListName): readonly Item[] => {
  const parts = [...router.catalog.views.keys()].map(server => ({
    index: server.index,
    alias: server.options.alias,
    items: listedOf(router, server, list)?.items ?? [],
  }))
  const isReserved = list === 'tools' ? router.catalog.isReserved : undefined
  return mergeParts(list, parts, silentLogger, isReserved).parts.flatMap(({ items }) => items)
}

const listedOf = (router: ControlApiContext['router'], server: Server, list: ListName) =>
  router.catalog.summary(server, [...server.connections]).listed(list)

/** Returns the tools with a text in their name, title or description, except for `hidden` servers. */
export const toolsView = (
  context: ControlApiContext,
  query: URLSearchParams,
  hidden: ReadonlySet<string>,
) => {
  const words = (query.get('q') ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const server = query.get('server')
  const most = Math.min(10_000, Number(query.get('limit') ?? 1000) || 1000)
  const all = mergedItems(context, 'tools').filter(
    ({ server: { name } }) => (server === null || name === server) && !hidden.has(name),
  )
  const fitting = words.length === 0 ? all : all.filter(item => fits(item, words))
  const history = context.router.meter?.history
  const isWhole = query.get('schemas') === 'true'
  const tools = fitting.slice(0, most).map(({ exposed, own, server: { name }, text }) => {
    const durations = history?.durationsOf(name, own)
    return {
      name: exposed,
      own,
      server: name,
      title: masked(textMember(text, 'title')),
      description: masked(textMember(text, 'description')),
      annotations: said(memberOf(text, 'annotations')),
      ...(isWhole && { inputSchema: said(memberOf(text, 'inputSchema')) }),
      bytes: text.length,
      tokens: toolTokens(text),
      calls: durations?.calls ?? 0,
      errors: durations?.errors ?? 0,
      p50Ms: durations?.quantile(0.5),
      p99Ms: durations?.quantile(0.99),
    }
  })
  return { version: 1, total: fitting.length, tools }
}

const fits = ({ exposed, own, text }: Item, words: readonly string[]): boolean => {
  const said = `${exposed} ${own} ${textMember(text, 'title') ?? ''} ${textMember(text, 'description') ?? ''}`
  const lower = said.toLowerCase()
  return words.every(word => lower.includes(word))
}

/** Servers may repeat secrets in any text. Names stay as they are because calls use them. */
const masked = (message: string | undefined): string | undefined => message && mask(message)

const said = (text: JsonText | undefined): unknown =>
  text &&
  JSON.parse(text.toString(), (_, value: unknown) => (typeof value === 'string' ? mask(value) : value))

/** Returns a tool as clients see it. Throws a Fault `invalid-params` for an unknown name. */
export const toolView = (context: ControlApiContext, name: string) => {
  const item = mergedItems(context, 'tools').find(({ exposed }) => exposed === name)
  if (item === undefined) throw new Fault('invalid-params', `Unknown tool: ${name}`)
  return { version: 1, server: item.server.name, own: item.own, tool: said(item.text) }
}

/** Returns the clients, as they describe themselves, with their calls in flight. */
export const clientsView = ({ router }: ControlApiContext) => {
  const inFlight = new Map<Client, number>()
  for (const { client } of router.meter?.history.inFlight ?? [])
    inFlight.set(client, (inFlight.get(client) ?? 0) + 1)
  const clients = [...router.clients].map(client => ({
    id: client.id,
    name: sanitizeLine(textMember(client.info, 'name') ?? '', 256),
    version: sanitizeLine(textMember(client.info, 'version') ?? '', 256),
    revision: client.revision,
    transport: client.via,
    principal: sanitizeLine(client.principal),
    calls: inFlight.get(client) ?? 0,
    queuedBytes: client.queuedBytes ?? 0,
    ...shownHow(exposedTo(router, client)),
  }))
  return { version: 1, clients }
}

const shownHow = (found: ReturnType<typeof exposedTo>) =>
  found && { view: found.view, tools: { mode: found.mode, why: found.why } }

/** Maximum calls in flight that are listed. */
const IN_FLIGHT_MAX = 512

/**
 * Returns the calls in flight and the last finished calls, optionally only those after `after`. Excludes
 * arguments and results.
 */
export const callsView = ({ router, clock }: ControlApiContext, after = 0) => {
  const nowMs = clock.nowMs()
  const atMs = Date.now() - nowMs
  const history = router.meter?.history
  // Hundreds of calls share few different texts.
  const known = new Map<string, string>()
  const clean = (word: string): string => {
    const found = known.get(word) ?? sanitizeLine(word, 256)
    known.set(word, found)
    return found
  }
  const present = new Map([...router.clients].map(client => [client.id, client]))
  const nameOf = (id: number): string | undefined => {
    const client = present.get(id)
    const name = client === undefined ? history?.nameOfLeft(id) : textMember(client.info, 'name')
    return name && clean(name)
  }
  const inFlight = callsInFlight({ router, clock }, IN_FLIGHT_MAX).map(({ ageMs, ...call }) => ({
    ...call,
    ms: ageMs,
  }))
  // Copying members one by one is faster than object rest, and this takes most of a viewer's time.
  const recent = (history?.recent(after) ?? []).map(
    ({ n, client, method, server: reached, name: own, errorId, endedMs, ms, outcome }) => {
      // The error of a call that reached no server names the one that it was for.
      const error = reached === undefined && errorId !== undefined ? router.faults.of(errorId) : undefined
      const { server = reached, name = own } = error ?? {}
      return {
        n,
        client,
        clientName: nameOf(client),
        method: clean(method),
        server,
        name: name && clean(name),
        errorId,
        outcome,
        at: new Date(atMs + endedMs - ms).toISOString(),
        ms: Math.round(ms * 10) / 10,
      }
    },
  )
  return { version: 1, underWay: inFlight, recent }
}

/** Returns the active configuration without secrets, and the problems of the file. */
export const configView = (context: ControlApiContext) => {
  const { listen, limits, metrics, auth, audit, servers, ...rest } = context.config()
  const { pageSize, startupWaitMs, drainMs, logLevel, credentialStore, daemon, knownServers } = rest
  return {
    version: 1,
    file: context.configStatus?.(),
    problems: context.problems(),
    // An explicit list of members: new configuration keys may be secrets.
    config: {
      ...{
        listen,
        limits: shownLimits(limits),
        audit: audit && { ...audit, otlp: audit.otlp && { protocol: audit.otlp.protocol } },
        pageSize,
        startupWaitMs,
        drainMs,
        logLevel,
        credentialStore,
        daemon,
      },
      knownServers,
      metrics: metrics && { ...metrics, token: metrics.token && MASK },
      auth: auth && { publicUrl: auth.publicUrl, loopback: auth.loopback, people: auth.people.length },
      servers: servers.map(server => ({ ...redactServer(server), written: undefined })),
    },
  }
}

/** Formats limits with their units, as in the configuration file. */
const shownLimits = (limits: Limits): Readonly<Record<string, number | string>> =>
  Object.fromEntries(
    LIMIT_NAMES.map(name => {
      const { [name]: value } = limits
      return [name, LIMIT_TABLE[name].kind === 'count' ? value : shownLimit(name, value)]
    }),
  )

/**
 * Returns the last errors sent to clients, oldest first. With the id of a kept error, only those after it.
 */
export const errorsView = ({ router }: ControlApiContext, after?: string) => {
  const { all } = router.faults
  const at = after === undefined ? -1 : all.findIndex(({ id }) => id === after)
  return { version: 1, errors: all.slice(at + 1) }
}

// The JSON of these views.
export type ServersView = ReturnType<typeof serversView>
export type ToolsView = ReturnType<typeof toolsView>
export type ToolView = ReturnType<typeof toolView>
export type ClientsView = ReturnType<typeof clientsView>
export type CallsView = ReturnType<typeof callsView>
export type ErrorsView = ReturnType<typeof errorsView>
export type ConfigView = ReturnType<typeof configView>
