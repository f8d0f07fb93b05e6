import type { Catalog } from '../../catalog/catalog.js'
import type { Clock } from '../../kernel/async/clock.js'
import { within } from '../../kernel/async/deadline.js'
import { Fault } from '../../kernel/faults.js'
import { at, memberOf, stringOf } from '../../kernel/json/text.js'
import { shortName } from '../../kernel/secrets/mask.js'
import { insufficientScope } from '../../model/access.js'
import type { Downlink, Viewer } from '../../model/links.js'
import { failed, succeeded } from '../../model/outcome.js'
import { announcesTasks, canAnswerQuestions, declaresTasks, hasOwnTasks } from '../../model/peer.js'
import { NEEDS_DIRECTORIES, NEEDS_SKILLS, type Need } from '../routes.js'
import { type CallVerdict, type Interceptor, NEXT, type RoutedRecord } from './call-record.js'
import type { ClientTurns } from './client-turns.js'
import type { ServerLevels } from './log-levels.js'
import { partyOf } from './party-list.js'
import { NO_COMPLETIONS } from './result-presenter.js'
import { noMethod } from './unknown-method.js'

/** Maximum time that a call waits for the proxy's own requests, which its questions could belong to. */
const OWN_REQUESTS_MS = 1000
/** Maximum length of a URI in an error. */
const URI_SHOWN = 512

// ── stage `routed` ──

/** Ends calls of tools that need more scopes than their caller has. */
export const accessScopes = (catalog: Pick<Catalog, 'lackingScopes'>): Interceptor => {
  const run = ({ caller, owner, ownName }: RoutedRecord): CallVerdict => {
    const lacking = catalog.lackingScopes(caller, owner.server.options, ownName)
    return lacking.length === 0 ? NEXT : failed(insufficientScope(lacking))
  }
  return { name: 'access scopes', stage: 'routed', methods: ['tools/call'], run }
}

/**
 * Ends completions at servers that have none; a server whose revision has no capability for them is asked.
 */
export const knownCompletions = (catalog: Pick<Catalog, 'facts'>): Interceptor => {
  const run = ({ owner, client }: RoutedRecord): CallVerdict =>
    catalog.facts(owner.server, client)?.capabilities.completions === false ? succeeded(NO_COMPLETIONS) : NEXT
  return { name: 'completions', stage: 'routed', methods: ['completion/complete'], run }
}

/** Assigns the connection of its client to a call, if the server accepts another request. */
export const CONNECTION: Interceptor = {
  name: 'connection',
  stage: 'routed',
  run: (record: RoutedRecord) => {
    const { owner, client, beganMs, params } = record
    const connection = owner.server.connectionFor(client)
    const { bounds, server, inFlight } = connection
    if (inFlight >= bounds.max.callsPerServer) {
      const words = `Server ${server.name} has ${inFlight} requests in flight`
      return failed(bounds.overloaded('callsPerServer', words, { server: server.name }))
    }
    record.connection = connection
    record.party = partyOf(client)
    record.sentParams = params
    record.totalAtMs = beganMs + server.timeouts.totalMs
    return NEXT
  },
}

// ── stage `sending` ──

/** Ends requests for skills and their directories at servers without them. */
export const knownSkills = (clients: { isOffered(viewer: Viewer, needs: Need): boolean }): Interceptor => ({
  name: 'skills',
  stage: 'sending',
  methods: ['skills/get', 'resources/directory/read'],
  run: (record: RoutedRecord) => {
    const { connection, method, exposed, isPassed } = record
    const skills = connection.facts?.capabilities.skills
    const isSkill = method === 'skills/get'
    if (isPassed || (isSkill ? skills !== undefined : skills?.directoryRead === true)) return NEXT
    if (!clients.isOffered(record, isSkill ? NEEDS_SKILLS : NEEDS_DIRECTORIES))
      return failed(noMethod(record))
    const uri = shortName(exposed, URI_SHOWN)
    const words = isSkill ? `No skill is served at ${uri}` : `${uri} is not a directory resource`
    return failed(new Fault('invalid-params', words))
  },
})

type Wait = Promise<unknown> | undefined

/** Lets a call continue after a wait, if there is one. */
const after = (wait: Wait): CallVerdict | Promise<CallVerdict> => wait?.then(() => NEXT) ?? NEXT

/** Returns whether the server may ask the client of a call without naming the call. */
const mayAsk = ({ connection: { link }, client }: RoutedRecord): boolean =>
  link?.serverRequests === 'pushed' && canAnswerQuestions(client.capabilities)

/** Serializes the calls at servers with `serialize`. */
export const clientTurns = (turns: ClientTurns): Interceptor => ({
  name: 'turns',
  stage: 'sending',
  run: (record: RoutedRecord) =>
    record.connection.server.serialize && mayAsk(record) ? after(turns.turn(record)) : NEXT,
})

/** Raises the server's log level to that of a request. */
export const requestLogLevels = (servers: Pick<ServerLevels, 'prepare'>): Interceptor => ({
  name: 'log levels',
  stage: 'sending',
  clients: 'returned',
  run: (record: RoutedRecord) => after(servers.prepare(record.connection, record)),
})

/** Waits for requests of the proxy that would hide whose a question or an unknown notification is. */
export const ownRequestsFirst = (clock: Clock): Interceptor => ({
  name: 'own requests',
  stage: 'sending',
  run: (record: RoutedRecord) => {
    const { onlyClient, ownRequests } = record.connection
    if (onlyClient !== undefined || !(mayAsk(record) || record.isPassed)) return NEXT
    const own = ownRequests.noneUnowned()
    return after(own && within(own, { clock, ms: OWN_REQUESTS_MS }))
  },
})

/**
 * Decides who follows a task of a call: its client, or the proxy. Reads the tool list, which shows whether a
 * tool may or must be called as a task.
 */
export const taskSupport = (catalog: Pick<Catalog, 'find' | 'readOnce'>): Interceptor => ({
  name: 'task support',
  stage: 'sending',
  methods: ['tools/call'],
  run: (record: RoutedRecord) => {
    const { link } = record.connection
    if (link?.facts.capabilities.tasks !== true) return NEXT
    const isKnown = catalog.find(record, 'tools', record.exposed) !== undefined
    const verdict = (): CallVerdict => taskVerdict(record, link, catalog)
    return isKnown ? verdict() : catalog.readOnce(record, 'tools').then(verdict)
  },
})

type Tools = Pick<Catalog, 'find'>

const taskVerdict = (record: RoutedRecord, link: Downlink, tools: Tools): CallVerdict => {
  const { client, owner, isSearched } = record
  if (owner.server.shares.isAlone || isSearched || !announcesTasks(link.facts)) return NEXT
  if (link.serverRequests === 'pushed') return requestedTask(record, tools)
  record.followsTask = declaresTasks(client)
  return NEXT
}

/** Lets a session request a task of a tool that supports tasks (2025-11-25, basic/utilities/tasks). */
const requestedTask = (record: RoutedRecord, tools: Tools): CallVerdict => {
  const { client, params, named, exposed } = record
  const task = named === undefined && hasOwnTasks(client) ? params && memberOf(params, 'task') : undefined
  if (task === undefined) return NEXT
  const tool = tools.find(record, 'tools', exposed)
  const support = tool && stringOf(at(tool.text, 'execution', 'taskSupport'))
  if (support !== 'optional' && support !== 'required')
    return failed(new Fault('unknown-method', `Tool ${shortName(exposed, 128)} does not support tasks`))
  record.task = task
  record.followsTask = true
  return NEXT
}
