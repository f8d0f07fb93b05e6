import { z } from 'zod'
import { DEFAULTS } from '../defaults.js'
import { flag, objectMend, text, texts, whole } from './values.js'

const MODE_MEND = 'Write "direct", "search" or "auto".'
const globsMend = 'Write a list of patterns, such as ["github__get_*"].'
const mode = () => z.enum(['direct', 'search', 'auto'], { error: MODE_MEND })
// One by one: of an enum the validator would say more than of what is wrong in the object beside it.
const modes = () => (['direct', 'search', 'auto'] as const).map(one => z.literal(one, { error: MODE_MEND }))

/** How tools are shown: a mode alone, or with what stays listed. */
export const expose = z.union(
  [
    ...modes(),
    z.object(
      {
        mode: mode()
          .optional()
          .describe('All tools (direct), search alone (search), or as suits the client (auto).'),
        pin: texts(globsMend)
          .optional()
          .describe('Tools that stay in the list whatever the mode, by their names as clients see them.'),
        tokens: whole(0, 10_000_000).optional().meta({
          description: 'How many tokens a list may cost, by estimate, before "auto" means "search".',
          default: DEFAULTS.expose.tokens,
        }),
      },
      objectMend('{ "mode": "search", "pin": ["github__search_code"] }'),
    ),
  ],
  { error: `${MODE_MEND} Or write an object, such as { "mode": "search" }.` },
)

export const VIEWS_EXAMPLE = '{ "readonly": { "annotations": { "readOnlyHint": true } } }'

/** A part of what there is. */
export const view = z.object(
  {
    servers: texts('Write a list of patterns, such as ["github", "fig*"].')
      .optional()
      .describe('Its servers, by name; all if neither these nor tags are given.'),
    tags: texts('Write a list of tags, such as ["web"].').optional().describe('Its servers, by their tags.'),
    tools: z
      .object(
        {
          allow: texts(globsMend).optional().describe('Its tools, by their names as clients see them.'),
          deny: texts(globsMend).optional().describe('Tools that it leaves out; wins over allow.'),
        },
        objectMend('{ "deny": ["*delete*"] }'),
      )
      .optional()
      .describe('Which tools of its servers it has.'),
    annotations: z
      .record(z.string(), z.unknown(), objectMend('{ "readOnlyHint": true }'))
      .optional()
      .describe('What the annotations of a tool must say; a tool that does not say it is left out.'),
    resources: flag().optional().meta({ description: 'Whether it has resources.', default: true }),
    prompts: flag().optional().meta({ description: 'Whether it has prompts.', default: true }),
    scopes: texts('Write a list of scopes, such as ["web"].')
      .optional()
      .describe('Scopes without all of which nobody gets this view; count only with auth.'),
    expose: expose.optional().describe('How its tools are shown.'),
  },
  objectMend('{ "servers": ["github"] }'),
)

/** What clients of a name get. */
export const client = z.object(
  {
    view: text('Write the name of a view.').optional().describe('Their view, if they ask for none.'),
    maxTools: whole(1, 100_000).optional().describe('The most tools that they can do with.'),
    expose: expose.optional().describe('How tools are shown to them.'),
  },
  objectMend('{ "maxTools": 40 }'),
)
