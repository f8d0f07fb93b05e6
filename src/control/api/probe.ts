import { ServerView } from '../../catalog/lists/server-view.js'
import { View } from '../../catalog/views/view.js'
import type { ServerConfig } from '../../config/types.js'
import { LOCAL } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import type { JsonText } from '../../kernel/json/text.js'
import { objectIn } from '../../kernel/object.js'
import { mask } from '../../kernel/secrets/mask.js'
import { LIST_NAMES, type ListName } from '../../model/listing.js'
import { sentDefinitions } from '../../mux/rules/sent-definitions.js'
import type { Server } from '../../peers/server.js'
import {
  noiseIn,
  ProbeLog,
  probedState,
  probedTexts,
  probedTool,
  type ServerProbe,
} from '../../telemetry/status/probed.js'
import type { ServerStatus } from '../../telemetry/status/status.js'
import type { ControlApiContext } from './context.js'

const POLL_MS = 50

/**
 * Probes a server as `probeServers` does, on its existing connections. Starts an idle server. Rejects with a
 * Fault `invalid-params` if the connections of the server depend on the client.
 */
export const probeServed = async (
  context: ControlApiContext,
  name: string,
  timeoutMs: number,
): Promise<ServerProbe> => {
  const server = context.router.pool.servers.find(one => one.name === name)
  const config = server && context.configOf(server.options)
  if (server === undefined || config === undefined)
    throw new Fault('invalid-params', `Unknown server: ${name}`)
  if (server.options.isPerPrincipal)
    throw new Fault('invalid-params', `${name} depends on the principal and cannot be probed`)
  const startedMs = context.clock.nowMs()
  const first = statusOf(context, name)
  const isResting = [...server.connections].every(({ state }) => state.at === 'idle')
  // Its status has the result.
  if (isResting) void server.start().catch(() => undefined)
  const last = await settled(context, name, timeoutMs)
  const spentMs = context.clock.nowMs() - startedMs
  const summary = context.router.catalog.summary(server, [...server.connections])
  const raw = (list: ListName): readonly JsonText[] => summary.listed(list)?.raw ?? []
  return {
    server: name,
    transport: config.transport.kind,
    ms: isResting ? Math.round(spentMs) : 0,
    ...probedState(first, last, timeoutMs),
    ...(last?.state === 'ready' ? examined(server, { context, config, raw }) : NOTHING),
    noise: noiseOf(context, name),
    instructionBytes: Buffer.byteLength(summary.facts?.instructions ?? ''),
    ...lockedPart(server, context),
  }
}

const lockedPart = (
  { name, options }: Server,
  { router: { catalog } }: ControlApiContext,
): Pick<ServerProbe, 'differences' | 'texts'> => {
  const sent = sentDefinitions(catalog, name, LOCAL.principal)
  return {
    differences: catalog.viewOf(options).exposure.lock?.differences,
    texts: probedTexts(sent === undefined || 'missing' in sent ? undefined : sent),
  }
}

const NOTHING = { tools: [], repairs: [] } as const

interface Examined {
  readonly context: ControlApiContext
  readonly config: ServerConfig
  readonly raw: (list: ListName) => readonly JsonText[]
}

/** Filters the lists again under the server's own names, which also reports the problems of its items. */
const examined = (
  server: Server,
  { context, config, raw }: Examined,
): Pick<ServerProbe, 'tools' | 'repairs'> => {
  const notes = new ProbeLog()
  const { exposure } = context.router.catalog.viewOf(server.options)
  const own = { ...exposure, lock: undefined, prefix: false, tools: { ...exposure.tools, rename: {} } }
  const view = new ServerView(server, own, { log: notes })
  const views = context
    .config()
    .views.map(rules => new View(rules))
    .filter(each => each.hasServer(config))
  const [tools = []] = LIST_NAMES.map(list => view.show(list, raw(list)).items)
  return {
    repairs: notes.repairs,
    tools: tools.map(({ text }) => {
      const tool = probedTool(text, config, views)
      return { ...tool, schema: masked(tool.schema) }
    }),
  }
}

const masked = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema), (_, value: unknown) => (typeof value === 'string' ? mask(value) : value))

const statusOf = (context: ControlApiContext, name: string): ServerStatus | undefined =>
  context.status().servers.find(status => status.name === name)

/** Waits for the final status of a server, at most for this time. */
const settled = async (
  context: ControlApiContext,
  name: string,
  timeoutMs: number,
): Promise<ServerStatus | undefined> => {
  for (const endMs = context.clock.nowMs() + timeoutMs; ; ) {
    const status = statusOf(context, name)
    if (status === undefined || isSettled(status) || context.clock.nowMs() >= endMs) return status
    await new Promise<void>(resolve => context.clock.after(POLL_MS, resolve))
  }
}

const isSettled = ({ state, tokens, remarks }: ServerStatus): boolean =>
  state === 'ready'
    ? tokens !== undefined || remarks.some(({ list }) => list === 'tools')
    : state !== 'starting' && state !== 'draining'

/** Returns the first non-JSON-RPC line of a server's output that is still in the log. */
const noiseOf = ({ lines }: ControlApiContext, server: string): string | undefined => {
  for (const text of lines?.matching({ server, level: 'warn' }) ?? []) {
    const line = noiseIn(objectIn(text) ?? {})
    if (line !== undefined) return line
  }
  return undefined
}
