import {
  at,
  type JsonText,
  memberOf,
  rawText,
  textOf,
  withAt,
  withMember,
  withoutMember,
} from '../../kernel/json-text.js'
import type { Welcome } from '../../model/links.js'
import type { ClientCapabilities } from '../../model/peer.js'
import type { LegacyRevision } from '../../model/revision.js'
import { isId } from '../../wire/jsonrpc.js'
import { TOKEN_PATH } from './methods.js'

const EMPTY_OBJECT = rawText('{}')

/**
 * Request params for another hop: its own progress token in, or none at all. A token never crosses a hop
 * (base, "Progress": unique among the sender's requests), and a `_meta` that held nothing else stays as `{}`.
 */
export const withToken = (
  params: JsonText | undefined,
  token: JsonText | undefined,
): JsonText | undefined => {
  if (token !== undefined) return withAt(params ?? EMPTY_OBJECT, TOKEN_PATH, token)
  if (params === undefined) return undefined
  const meta = memberOf(params, '_meta')
  if (meta === undefined || memberOf(meta, 'progressToken') === undefined) return params
  return withMember(params, '_meta', withoutMember(meta, 'progressToken'))
}

/** The token that a request's params carry, if it is a legal one: text or an integer (base, "Progress"). */
export const tokenOf = (params: JsonText | undefined): JsonText | undefined => {
  const token = params === undefined ? undefined : at(params, ...TOKEN_PATH)
  return token !== undefined && isId(token) ? token : undefined
}

/** `ServerCapabilities` for a client of `revision`: members that its schema lacks are not sent. */
export const encodeServerCapabilities = (welcome: Welcome, revision: LegacyRevision): JsonText => {
  const { tools, prompts, resources, completions, logging } = welcome.capabilities
  return textOf({
    ...(tools && { tools: { listChanged: true } }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { ...(resources.subscribe && { subscribe: true }), listChanged: true } }),
    ...(completions && revision >= '2025-03-26' && { completions: {} }),
    ...(logging && { logging: {} }),
  })
}

/** `ClientCapabilities` for a legacy server: what the clients behind the connection can be asked, and nothing else. */
export const encodeClientCapabilities = (capabilities: ClientCapabilities): JsonText => {
  const { roots, sampling, elicitation } = capabilities
  return textOf({
    ...(roots && { roots: roots.listChanged ? { listChanged: true } : {} }),
    ...(sampling && {
      sampling: { ...(sampling.context && { context: {} }), ...(sampling.tools && { tools: {} }) },
    }),
    ...(elicitation && {
      elicitation: { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) },
    }),
  })
}
