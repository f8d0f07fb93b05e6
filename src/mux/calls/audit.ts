import type { Clock } from '../../kernel/async/clock.js'
import type { Caller } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { first, type JsonText, memberOf, membersOf, textMember } from '../../kernel/json/text.js'
import { maskJson, sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Call, Client } from '../../model/links.js'
import { bytesOf, failed, type Outcome } from '../../model/outcome.js'
import { errorCode, RPC_CODES } from '../../model/rpc-error.js'
import { askedName } from '../routes.js'
import type { OnAsked } from '../server-requests/server-requests.js'
import { sessionHash } from './call-facts.js'
import {
  type AskedApproval,
  type CallRecord,
  type ClientObserver,
  type Interceptor,
  NEXT,
} from './call-record.js'

/** The content of an audit line. */
export interface AuditEntry {
  readonly about: string
  readonly time: Date
  readonly facts: Facts
  /** True if the line must not be lost: it reports a refusal, an approval or a changed tool. */
  readonly isKept: boolean
  /** The span of the call, if it is traced. */
  readonly spanId?: string | undefined
  readonly isFault?: boolean | undefined
}

export interface AuditOptions {
  /** Writes one line, given without its line break. */
  readonly write: (line: string, entry: AuditEntry) => void
  readonly clock: Clock
  readonly now: () => Date
  /** True to include the arguments of tools and prompts, which may hold anything. */
  readonly withArguments: boolean
  /** The name of this process among the replicas; undefined without a cluster. */
  readonly replica?: string | undefined
  /** Returns false while lines are lost, so that calls are refused; undefined to accept them. */
  readonly isAvailable?: (() => boolean) | undefined
}

type Facts = Readonly<Record<string, unknown>>

const NAME_BYTES = 512
const ARGUMENTS_BYTES = 64 * 1024
/** Maximum number of listed answers per request. */
const ANSWERS_MAX = 32

/** Receives each resource that a rule denies to `subscriptions/listen`, whose other parts continue. */
export type OnSubscriptionDenied = (call: Call, uri: string, fault: Fault) => void

/** Writes a line about each session, call and server request. */
export class Audit implements ClientObserver {
  readonly #options: AuditOptions
  /** The start of each open session. */
  readonly #sessions = new Map<Client, number>()

  constructor(options: AuditOptions) {
    this.#options = options
  }

  write(about: string, facts: Facts): void {
    const entry = { about, time: this.#options.now(), facts, isKept: KEPT.has(about) }
    this.#options.write(lineText(entry), entry)
  }

  /** Records finished calls. */
  get interceptors(): readonly Interceptor[] {
    const run: Interceptor['run'] = (record, outcome) => {
      this.#called(record, outcome)
      return NEXT
    }
    const { isAvailable } = this.#options
    const recorded: Interceptor = { name: 'audit', stage: 'settled', run }
    return isAvailable === undefined ? [recorded] : [strictly(isAvailable), recorded]
  }

  /** Records the begin of a session. */
  met(client: Client): void {
    if (client.serverRequests !== 'pushed' || this.#sessions.has(client)) return
    this.#sessions.set(client, this.#options.clock.nowMs())
    this.write('session', {
      event: 'opened',
      ...whoIs(client),
      ...introduced(client),
      revision: client.revision,
      ...this.#wayOf(client.caller),
    })
  }

  /** Records the end of a session. */
  left(client: Client): void {
    const openedMs = this.#sessions.get(client)
    if (openedMs === undefined) return
    this.#sessions.delete(client)
    this.write('session', { event: 'closed', ...whoIs(client), ...this.#since(openedMs) })
  }

  /** Records each server request with its recipient and outcome, without its contents. */
  readonly asked: OnAsked = ({ server, method, client }) => {
    const startedMs = this.#options.clock.nowMs()
    return answer =>
      this.write('question', {
        ...whoIs(client),
        server,
        method: sanitizeLine(method, NAME_BYTES),
        ...(answer?.kind === 'result' ? { outcome: actionOf(answer.result) } : endOf(answer, 'withdrawn')),
        ...this.#since(startedMs),
      })
  }

  /** Records a resource that a rule denies to a request for several ones. */
  readonly subscriptionDenied: OnSubscriptionDenied = ({ client, method, caller }, uri, fault) => {
    const facts: Facts = {
      ...whoIs(client),
      ...introduced(client),
      method,
      name: sanitizeLine(uri, NAME_BYTES),
      ...this.#wayOf(caller),
      ...endOfFault(fault),
      decision: 'deny',
      rule: fault.data?.['rule'],
    }
    const entry = { about: 'call', time: this.#options.now(), facts, isKept: true, isFault: true }
    this.#options.write(lineText(entry), entry)
  }

  #called(call: CallRecord, outcome: Outcome | undefined): void {
    const name = askedName(call)
    const now = this.#options.now().getTime()
    const time = new Date(now - (this.#options.clock.nowMs() - call.beganMs))
    const facts: Facts = {
      ...whoIs(call.client),
      ...introduced(call.client),
      call: call.number,
      method: sanitizeLine(call.method, NAME_BYTES),
      name: name && sanitizeLine(name, NAME_BYTES),
      answers: answersIn(call.params),
      server: call.servedBy,
      ...this.#wayOf(call.caller),
      ...endOf(outcome, 'cancelled'),
      ...decisionOf(call, outcome),
      ...faultOf(outcome),
      trace_id: call.trace?.sampledId,
      ...this.#since(call.beganMs),
      bytesIn: call.params?.length ?? 0,
      bytesOut: outcome === undefined ? 0 : bytesOf(outcome),
    }
    const entry: AuditEntry = {
      ...{ about: 'call', time, facts, isKept: isRefused(outcome), isFault: outcome?.kind === 'fault' },
      spanId: call.trace?.sampledId && call.trace.origin.context.spanId,
    }
    const line = lineText(entry)
    const args = this.#options.withArguments && call.params && memberOf(call.params, 'arguments')
    this.#options.write(args ? `${line.slice(0, -1)},${argumentsIn(args)}}` : line, entry)
  }

  /** Returns the replica that received a request, and the one with its session. */
  #wayOf(caller: Caller): Facts | undefined {
    const { replica } = this.#options
    return replica === undefined ? undefined : { edge: caller.edge ?? replica, owner: replica }
  }

  #since(startedMs: number): { readonly durationMs: number } {
    return { durationMs: Math.round((this.#options.clock.nowMs() - startedMs) * 10) / 10 }
  }
}

const KEPT = new Set(['refused', 'approval', 'lock'])

/** Returns a line as JSON, without its line break. */
export const lineText = ({ about, time, facts }: Pick<AuditEntry, 'about' | 'time' | 'facts'>): string =>
  JSON.stringify({ audit: about, time: time.toISOString(), ...facts })

/** Refuses calls that could not be recorded. */
const strictly = (isAvailable: () => boolean): Interceptor => ({
  name: 'strict audit',
  stage: 'request',
  methods: ['tools/call', 'prompts/get', 'resources/read'],
  run: () => (isAvailable() ? NEXT : failed(new Fault('refused', UNAVAILABLE, { data: UNAVAILABLE_DATA }))),
})

const UNAVAILABLE = 'Calls are refused because the audit log cannot be written'
const UNAVAILABLE_DATA = { reason: 'audit-unavailable' }

const isRefused = (outcome: Outcome | undefined): outcome is Outcome & { readonly kind: 'fault' } =>
  outcome?.kind === 'fault' && outcome.fault.code === 'refused'

/** Links the lines of a session without revealing its id. */
const whoIs = (client: Client): Facts => ({
  principal: client.principal,
  session: sessionHash(client) ?? `client-${client.id}`,
})

const introduced = ({ info }: Client): Facts => ({
  client: sanitizeLine(`${textMember(info, 'name') ?? ''} ${textMember(info, 'version') ?? ''}`, NAME_BYTES),
})

/** Returns the actions of a client's answers to an earlier result (2026-07-28, basic/patterns/mrtr). */
const answersIn = (params: JsonText | undefined): readonly string[] | undefined => {
  const responses = params && memberOf(params, 'inputResponses')
  return responses && first(ANSWERS_MAX, membersOf(responses)).map(({ value }) => actionOf(value))
}

/** Returns the action of an elicitation; `ok` for any other answer. */
const actionOf = (answer: JsonText): string => {
  const action = textMember(answer, 'action')
  return action === undefined ? 'ok' : sanitizeLine(action, NAME_BYTES)
}

const endOf = (
  outcome: Outcome | undefined,
  without: string,
): { readonly outcome: string; readonly code?: number | undefined } => {
  switch (outcome?.kind) {
    case undefined:
      return { outcome: without }
    case 'result': {
      const isError = outcome.isError ?? memberOf(outcome.result, 'isError')?.toString('latin1') === 'true'
      return { outcome: isError ? 'tool-error' : 'ok' }
    }
    case 'input':
      return { outcome: 'input-required' }
    case 'task':
      return { outcome: 'task' }
    case 'error':
      return { outcome: 'error', code: errorCode(outcome.error) }
    case 'fault':
      return endOfFault(outcome.fault)
  }
}

const endOfFault = ({ code, data }: Fault): ReturnType<typeof endOf> =>
  code === 'refused' ? { outcome: String(data?.['reason']) } : { outcome: code, code: RPC_CODES[code] }

const faultOf = (outcome: Outcome | undefined): Facts =>
  outcome?.kind === 'fault' ? { errorId: outcome.errorId } : {}

/** Returns the decision of the rules; a refused subscription has its rule in the refusal. */
const decisionOf = ({ decision, asked }: CallRecord, outcome: Outcome | undefined): Facts | undefined => {
  if (decision !== undefined)
    return { decision: decision.decision, rule: decision.rule, ...(asked && approvalOf(asked)) }
  const rule = isRefused(outcome) ? outcome.fault.data?.['rule'] : undefined
  return rule === undefined ? undefined : { decision: 'deny', rule }
}

const approvalOf = ({ id, state, askedMs, decidedMs, decider, subject }: AskedApproval): Facts => ({
  digest: subject.digest,
  approval: {
    id,
    outcome: state === 'used' ? 'granted' : state,
    ...decider,
    waitedMs: decidedMs === undefined ? undefined : Math.round(decidedMs - askedMs),
  },
})

/** Line breaks in JSON occur only between tokens, where a space means the same. */
const argumentsIn = (args: JsonText): string =>
  args.length > ARGUMENTS_BYTES
    ? `"argumentsBytes":${args.length}`
    : `"arguments":${maskJson(args.toString()).replace(/[\r\n]+/g, ' ')}`
