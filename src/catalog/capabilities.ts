import { type Extensions, extensionsWithout, joinExtensions } from '../model/extensions.js'
import type { ServerRequestMode, Welcome } from '../model/links.js'
import {
  announcesTasks,
  extensionsOf,
  hasSessions,
  type ServerCapabilities,
  type ServerFacts,
} from '../model/peer.js'
import type { View } from './views/view.js'

/** Maximum length of one server's instructions, in UTF-16 units. The rest is cut. */
const INSTRUCTIONS_MAX = 8 * 1024

export type Offer = Omit<Welcome, 'instructions' | 'own'>

/**
 * Joins the capabilities of several servers. An unknown server counts as offering everything, because the
 * answer to `initialize` is final. The same holds for a server that only another credential shows. `mode` is
 * the client's.
 */
export const joinCapabilities = (
  servers: readonly (ServerFacts | undefined)[],
  hasHidden = false,
  mode: ServerRequestMode = 'pushed',
): Offer => {
  const known = servers.filter(facts => facts !== undefined)
  const isComplete = known.length === servers.length
  const isUnknown = !isComplete || hasHidden
  const some = (test: (capabilities: ServerCapabilities) => boolean): boolean =>
    known.some(({ capabilities }) => test(capabilities))
  const extensions = joinExtensions(known.map(extensionsOf), mode)
  const tasks = known.some(facts => announcesTasks(facts) && hasSessions(facts) === (mode === 'pushed'))
  // The files of skills are resources, and changed skills are reported as such.
  const resources =
    isUnknown || some(capabilities => (capabilities.resources ?? capabilities.skills) !== undefined)
  return {
    capabilities: {
      tools: isUnknown || some(capabilities => capabilities.tools !== undefined),
      prompts: isUnknown || some(capabilities => capabilities.prompts !== undefined),
      resources: resources
        ? { subscribe: isUnknown || some(capabilities => capabilities.resources?.subscribe === true) }
        : undefined,
      completions: some(mayComplete),
      logging: some(capabilities => capabilities.logging),
      ...(tasks && { tasks }),
      ...(extensions.size > 0 && { extensions }),
    },
    isComplete,
  }
}

/** Returns an offer without the lists that a view hides. */
export const withinView = (offer: Offer, view: Pick<View, 'hasList'> | undefined): Offer => {
  if (view === undefined) return offer
  const [hasPrompts, hasResources] = [view.hasList('prompts'), view.hasList('resources')]
  const capabilities = hasResources ? offer.capabilities : withoutResources(offer.capabilities)
  return {
    ...offer,
    capabilities: {
      ...capabilities,
      prompts: hasPrompts && capabilities.prompts,
      completions: (hasPrompts || hasResources) && capabilities.completions,
    },
  }
}

/** The files of skills are resources. */
const withoutResources = (all: Offer['capabilities']): Offer['capabilities'] => {
  const { tools, prompts, completions, logging, tasks, extensions = NO_EXTENSIONS } = all
  const kept = extensionsWithout(extensions, 'resources')
  return {
    ...{ tools, prompts, completions, logging, resources: undefined },
    ...(tasks && { tasks }),
    ...(kept.size > 0 && { extensions: kept }),
  }
}

const NO_EXTENSIONS: Extensions = new Map()

/** Completions are for arguments of prompts and resource templates. */
const mayComplete = ({ completions, prompts, resources }: ServerCapabilities): boolean =>
  completions === 'undeclared' ? (prompts ?? resources) !== undefined : completions

export const joinInstructions = (
  servers: readonly (readonly [alias: string, facts: Pick<ServerFacts, 'instructions'> | undefined])[],
): string | undefined => {
  const texts = servers.flatMap(([alias, facts]) => {
    const text = facts?.instructions?.trim()
    if (text === undefined || text === '') return []
    return [`## ${alias}\n${cutText(text)}`]
  })
  return texts.length === 0 ? undefined : texts.join('\n\n')
}

/** Cuts between characters: half a surrogate pair is not valid Unicode. */
const cutText = (text: string): string => {
  const isSplit = (text.codePointAt(INSTRUCTIONS_MAX - 1) ?? 0) > 0xffff
  return text.slice(0, isSplit ? INSTRUCTIONS_MAX - 1 : INSTRUCTIONS_MAX)
}
