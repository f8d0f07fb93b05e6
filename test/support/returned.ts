import { valueOf } from '../../src/kernel/json/text.js'
import type { ClientCapabilities } from '../../src/model/peer.js'
import { settled } from './fake-clock.js'
import {
  type FakeCall,
  type FakeClient,
  type FakeServer,
  resource,
  type Script,
  tool,
  World,
  type WorldOptions,
} from './mux.js'

/** A result that wants input, as its client reads it. */
export interface Wish {
  readonly resultType: string
  readonly inputRequests?: Readonly<Record<string, { readonly method: string; readonly params?: unknown }>>
  readonly requestState: string
}

/** What a call was answered with, if that wants input. */
export const wishOf = (call: FakeCall): Wish => {
  const [outcome] = call.ends
  if (call.ends.length !== 1 || outcome?.kind !== 'input')
    throw new Error(`was not asked for input: ${JSON.stringify(call.ended)}`)
  return valueOf(outcome.result) as Wish
}

/** The same request again, with the state that its answer held. */
export const again = (
  call: FakeCall,
  inputResponses?: object,
  more: { client?: FakeClient; params?: object; wantsProgress?: boolean; logLevel?: 'debug' | 'error' } = {},
): FakeCall => {
  const { client = call.client, params, ...rest } = more
  const first = call.params === undefined ? {} : (valueOf(call.params) as object)
  const { requestState } = wishOf(call)
  return client.call(call.method, { ...first, inputResponses, requestState, ...params }, rest)
}

/** What is wanted from clients by requests that may be answered with a question. */
export const REQUESTS = [
  ['tools/call', { name: 'a__x', arguments: { day: 'fri' } }],
  ['prompts/get', { name: 'a__p' }],
  ['resources/read', { uri: 'a+mem:r' }],
] as const

/** One server that has one of each, and a client whose questions are returned. */
export const withReturned = async (
  script: Script = {},
  options: WorldOptions & { capabilities?: ClientCapabilities } = {},
): Promise<{ world: World; server: FakeServer; client: FakeClient }> => {
  const { capabilities, ...rest } = options
  const all = { tools: [tool('x')], prompts: [{ name: 'p' }], resources: [resource('mem:r')] }
  const world = new World({ a: { ...all, ...script } }, rest)
  const client = await world.client({ revision: '2026-07-28', ...(capabilities && { capabilities }) })
  await client.get('tools/list')
  await client.get('prompts/list')
  await settled()
  return { world, server: world.server('a'), client }
}
