import { at, type JsonText, stringOf } from '../../kernel/json/text.js'

/** What a request names: by that its owner is found. */
export type NamedBy = 'tool' | 'prompt' | 'uri' | 'ref'

/** How one request names it. */
export interface NamedAt {
  readonly by: Exclude<NamedBy, 'ref'> | 'template'
  /** Where in its params it says so. */
  readonly path: readonly string[]
}

const PLACES = {
  tool: { by: 'tool', path: ['name'] },
  prompt: { by: 'prompt', path: ['name'] },
  uri: { by: 'uri', path: ['uri'] },
  'ref/prompt': { by: 'prompt', path: ['ref', 'name'] },
  'ref/resource': { by: 'template', path: ['ref', 'uri'] },
} as const satisfies Record<string, NamedAt>

/**
 * Where a request says what it is about; undefined if it does not. A completion names a prompt, or a resource template by its exact
 * text (server/utilities/completion).
 */
export const namedAt = (by: NamedBy, params: JsonText | undefined): NamedAt | undefined => {
  if (by !== 'ref') return PLACES[by]
  const type = params && stringOf(at(params, 'ref', 'type'))
  return type === 'ref/prompt' || type === 'ref/resource' ? PLACES[type] : undefined
}
