import type { Welcome } from '../model/links.js'
import type { Server } from '../peers/server.js'

/** Instructions of one server may be so long, in UTF-16 units; the rest is cut. */
const INSTRUCTIONS_MAX = 8 * 1024

/**
 * What all servers can do together. While one of them is still unknown, everything that it might bring is announced: what
 * a client was told at `initialize` cannot be extended later, and an empty list is legal.
 */
export const joinWelcome = (servers: readonly Server[], isAlone: boolean): Welcome => {
  const known = servers.map(server => server.facts?.capabilities)
  const isUnknown = known.includes(undefined)
  const some = (test: (capabilities: NonNullable<(typeof known)[number]>) => boolean): boolean =>
    known.some(capabilities => capabilities !== undefined && test(capabilities))
  const resources = isUnknown || some(capabilities => capabilities.resources !== undefined)
  const isOldest = servers.some(
    ({ facts }) =>
      facts?.revision === '2024-11-05' && (facts.capabilities.prompts ?? facts.capabilities.resources),
  )
  return {
    capabilities: {
      tools: isUnknown || some(capabilities => capabilities.tools !== undefined),
      prompts: isUnknown || some(capabilities => capabilities.prompts !== undefined),
      resources: resources
        ? { subscribe: isUnknown || some(capabilities => capabilities.resources?.subscribe === true) }
        : undefined,
      // 2024-11-05 has the method but no capability for it.
      completions: isOldest || some(capabilities => capabilities.completions),
      logging: some(capabilities => capabilities.logging),
    },
    ...(isAlone
      ? { instructions: servers[0]?.facts?.instructions, own: servers[0]?.facts }
      : { instructions: joinInstructions(servers) }),
    isComplete: !isUnknown,
  }
}

const joinInstructions = (servers: readonly Server[]): string | undefined => {
  const texts = servers.flatMap(server => {
    const text = server.facts?.instructions?.trim()
    if (text === undefined || text === '') return []
    return [`## ${server.options.alias}\n${cutText(text)}`]
  })
  return texts.length === 0 ? undefined : texts.join('\n\n')
}

/** Not through the middle of a character: what is left of it would be no Unicode. */
const cutText = (text: string): string => {
  const isSplit = (text.codePointAt(INSTRUCTIONS_MAX - 1) ?? 0) > 0xffff
  return text.slice(0, isSplit ? INSTRUCTIONS_MAX - 1 : INSTRUCTIONS_MAX)
}
