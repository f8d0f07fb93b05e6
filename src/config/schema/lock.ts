import { z } from 'zod'
import { globs, text, words } from './values.js'

const FILE_FIX = 'Write the path of a file, such as "mcp.lock.json".'
const IGNORE_FIX =
  'Write a list of JSON Pointers into the file, such as ["/servers/news/tools/*/description"].'

// An unknown key is an error: items that differ could be served because of a typing error.
export const lockSchema = z.strictObject(
  {
    file: text(FILE_FIX).describe('The lock file, relative to this file. `mcp-proxy lock` writes it.'),
    onChange: z.enum(['warn', 'hide', 'ask'], { error: 'Write "warn", "hide" or "ask".' }).optional().meta({
      description:
        'What happens to items that differ from the file: they are served and reported (`warn`), not shown (`hide`), or shown as locked, and each call needs an approval (`ask`).',
      default: 'warn',
    }),
    onNew: z
      .enum(['warn', 'hide'], { error: 'Write "warn" or "hide".' })
      .optional()
      .describe(
        'What happens to items that are not in the file; if absent, `warn` with `"onChange": "warn"`, else `hide`.',
      ),
    servers: globs('shop*')
      .optional()
      .meta({ description: 'Patterns of the servers that are locked.', default: ['*'] }),
    ignore: words(IGNORE_FIX, /^(?:\/(?:[^~]|~[01])*)+$/)
      .optional()
      .describe(
        'JSON Pointers to parts of the file that are neither compared nor written; `*` represents any key.',
      ),
  },
  { error: `${FILE_FIX.slice(0, -1)}, or an object such as { "file": "mcp.lock.json" }.` },
)

/** With the file alone, for editors only, as with "listen". */
export const lockInEditors = z.union([lockSchema, z.string().min(1).describe('The path of the lock file.')])
