import { type JsonText, textOf } from '../../kernel/json/text.js'
import type { Welcome } from '../../model/links.js'
import type { ClientCapabilities } from '../../model/peer.js'
import type { LegacyRevision } from '../../model/revision.js'
import { inOwnWords } from '../../rpc/capabilities.js'

/** `ServerCapabilities` for a client of `revision`: members that its schema lacks are not sent. */
export const encodeServerCapabilities = (welcome: Welcome, revision: LegacyRevision): JsonText => {
  const { tools, prompts, resources, completions, logging } = welcome.capabilities
  const said = textOf({
    ...(tools && { tools: { listChanged: true } }),
    ...(prompts && { prompts: { listChanged: true } }),
    ...(resources && { resources: { ...(resources.subscribe && { subscribe: true }), listChanged: true } }),
    ...(completions && revision >= '2025-03-26' && { completions: {} }),
    ...(logging && { logging: {} }),
  })
  return welcome.own === undefined ? said : inOwnWords(said, welcome.own, revision)
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
