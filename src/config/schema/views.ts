import { z } from 'zod'
import { flag, globs, objectFix, plain, text, texts, wholeNumber, words } from './values.js'

const MODE_FIX = 'Write "direct", "search" or "auto".'
const mode = () => z.enum(['direct', 'search', 'auto'], { error: MODE_FIX })
// Literals, because the error of an enum would outweigh errors of the object form.
const modes = () => (['direct', 'search', 'auto'] as const).map(one => z.literal(one, { error: MODE_FIX }))

/** `expose`: a mode, or an object. */
export const expose = z.union(
  [
    ...modes(),
    z.object(
      {
        mode: mode()
          .optional()
          .describe(
            '`direct` lists all tools, `search` lists five tools that find the others, `auto` chooses by client.',
          ),
        pin: globs('github__get_*')
          .optional()
          .describe('Patterns of the tools that stay listed in every mode, by the names that clients see.'),
        tokens: plain(wholeNumber(0, 10_000_000), {
          description: 'The estimated tokens of a list above which `auto` means `search`.',
          default: 10_000,
          reload: 'live',
        }),
      },
      objectFix('{ "mode": "search", "pin": ["github__search_code"] }'),
    ),
  ],
  { error: `${MODE_FIX} Or write an object, such as { "mode": "search" }.` },
)

export const VIEWS_EXAMPLE = '{ "readonly": { "annotations": { "readOnlyHint": true } } }'

/** A selection of servers, tools, resources and prompts. */
export const view = z.object(
  {
    servers: globs('fig*')
      .optional()
      .describe(
        'Patterns of the names of its servers; all servers if neither `servers` nor `tags` is given.',
      ),
    tags: texts('Write a list of tags without spaces around them, such as ["web"].')
      .optional()
      .describe('Tags of its servers.'),
    tools: z
      .object(
        {
          allow: globs('github__get_*')
            .optional()
            .describe('Patterns of the tools to show, by the names that clients see.'),
          deny: globs('github__get_*')
            .optional()
            .describe('Patterns of the tools to hide; takes precedence over `allow`.'),
        },
        objectFix('{ "deny": ["*delete*"] }'),
      )
      .optional()
      .describe('Filters the tools of its servers.'),
    annotations: z
      .record(z.string(), z.unknown(), objectFix('{ "readOnlyHint": true }'))
      .optional()
      .describe('Annotations that a tool must declare to be shown, such as `{ "readOnlyHint": true }`.'),
    resources: flag().optional().meta({ description: 'Show resources and skills.', default: true }),
    prompts: flag().optional().meta({ description: 'Show prompts.', default: true }),
    scopes: words('Write a list of scopes, such as ["web"].')
      .optional()
      .describe('Scopes that a caller needs to use the view; checked only with `auth`.'),
    expose: expose.optional().describe('How its tools are shown.'),
  },
  objectFix('{ "servers": ["github"] }'),
)

/** Settings for clients with a matching name. */
export const client = z.object(
  {
    view: text('Write the name of a view.').optional().describe('Their view, unless they request another.'),
    maxTools: wholeNumber(1, 100_000)
      .optional()
      .describe('The maximum number of tools that they can handle.'),
    expose: expose.optional().describe('How tools are shown to them.'),
  },
  objectFix('{ "maxTools": 40 }'),
)
