import { Fault } from '../../kernel/faults.js'
import type { ServerRequestMode } from '../../model/links.js'
import { failed } from '../../model/outcome.js'
import {
  type CallRecord,
  type CallStage,
  type CallVerdict,
  type Chain,
  type Chains,
  type Interceptor,
  NEXT,
  TAKEN,
} from './call-record.js'

/** Sends the outcome. Interceptors that precede it in the list see the outcome as it was sent. */
export const ANSWER: Interceptor = {
  name: 'answer',
  stage: 'settled',
  seesAnswered: true,
  run: ({ call }, outcome) => {
    if (outcome !== undefined) call.end(outcome)
    return NEXT
  },
}

/** Chains by method; `undefined` represents the methods that no interceptor names. */
type ByMethod = ReadonlyMap<string | undefined, Chains>

/**
 * The interceptors of each kind of call, compiled once per configuration. The first interceptor is the
 * outermost: it sees a call first, and its outcome last.
 */
export class InterceptorChains {
  readonly #chains: Readonly<Record<ServerRequestMode, ByMethod>>
  readonly #answered: Chains

  constructor(interceptors: Chain) {
    const methods = [undefined, ...new Set(interceptors.flatMap(({ methods = [] }) => methods))]
    const compile = (mode: ServerRequestMode): ByMethod =>
      new Map(
        methods.map(method => [
          method,
          chainsOf(interceptors.filter(one => isFor(one, method) && (one.clients ?? mode) === mode)),
        ]),
      )
    this.#chains = { pushed: compile('pushed'), returned: compile('returned') }
    this.#answered = chainsOf(interceptors.filter(one => one.seesAnswered === true))
  }

  /** Returns the chains of a call. */
  for(method: string, mode: ServerRequestMode): Chains {
    const chains = this.#chains[mode]
    return chains.get(method) ?? chains.get(undefined) ?? this.#answered
  }

  /** The chains of requests that the uplink answers itself. */
  get answered(): Chains {
    return this.#answered
  }
}

const isFor = ({ methods }: Interceptor, method: string | undefined): boolean =>
  methods === undefined || (method !== undefined && methods.includes(method))

const chainsOf = (interceptors: Chain): Chains => {
  const at = (stage: CallStage): Interceptor[] => interceptors.filter(one => one.stage === stage)
  return {
    request: at('request'),
    routed: at('routed'),
    sending: at('sending'),
    settled: at('settled').reverse(),
  }
}

/**
 * Runs a chain until an interceptor ends the call. Synchronous unless an interceptor returns a promise. Never
 * throws or rejects.
 */
export const runChain = (record: CallRecord, chain: Chain, from = 0): CallVerdict | Promise<CallVerdict> => {
  try {
    for (let at = from; at < chain.length; at += 1) {
      const verdict = chain[at]?.run(record, undefined) ?? NEXT
      if (verdict instanceof Promise) return continueAfter(verdict, record, chain, at + 1)
      if (verdict !== NEXT) return verdict
    }
    return NEXT
  } catch (thrown) {
    return failed(Fault.from(thrown))
  }
}

const continueAfter = async (
  pending: Promise<CallVerdict>,
  record: CallRecord,
  chain: Chain,
  from: number,
): Promise<CallVerdict> => {
  try {
    const verdict = await pending
    if (record.isGone) return TAKEN
    return verdict === NEXT ? await runChain(record, chain, from) : verdict
  } catch (thrown) {
    return failed(Fault.from(thrown))
  }
}

/** Continues a call after a wait with `next`, or ends it. */
export const resume = (
  record: CallRecord,
  verdict: CallVerdict | Promise<CallVerdict>,
  next: () => void,
): void => {
  if (verdict instanceof Promise) void verdict.then(known => resume(record, known, next))
  else if (verdict === NEXT) next()
  else if (verdict !== TAKEN) record.end(verdict)
}
