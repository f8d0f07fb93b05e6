import { type JsonText, textOf } from '../../kernel/json/text.js'
import type { Welcome } from '../../model/links.js'
import type { ClientCapabilities } from '../../model/peer.js'
import { inOwnWords, TASKS_EXTENSION } from '../../rpc/capabilities.js'
import { MODERN_REVISION } from './methods.js'

/**
 * `ServerCapabilities` of a `DiscoverResult`. Every change can be listened to, so every list says that it
 * tells.
 */
export const encodeServerCapabilities = (welcome: Welcome): JsonText => {
  const { tools, prompts, resources, completions, logging } = welcome.capabilities
  const said = textOf({
    ...(tools && { tools: { listChanged: true } }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { ...(resources.subscribe && { subscribe: true }), listChanged: true } }),
    ...(completions && { completions: {} }),
    ...(logging && { logging: {} }),
  })
  return welcome.own === undefined ? said : inOwnWords(said, welcome.own, MODERN_REVISION)
}

/** `ClientCapabilities` of a request's envelope: what the client behind it can be asked, and what we do for it. */
export const encodeClientCapabilities = (
  { roots, sampling, elicitation }: ClientCapabilities,
  followsTasks = false,
): JsonText =>
  textOf({
    ...(roots && { roots: {} }),
    ...(sampling && {
      sampling: { ...(sampling.context && { context: {} }), ...(sampling.tools && { tools: {} }) },
    }),
    ...(elicitation && {
      elicitation: elicitation.isBare
        ? {}
        : { ...(elicitation.form && { form: {} }), ...(elicitation.url && { url: {} }) },
    }),
    ...(followsTasks && { extensions: { [TASKS_EXTENSION]: {} } }),
  })
