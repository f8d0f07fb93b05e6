import type { CauseRows } from '../row.js'

const TELL_AUTHOR = 'tell the author of the server'

/** The tools of servers, as clients see them. */
export const TOOL_CAUSES = {
  D060: {
    about: 'long names of tools',
    level: 'note',
    says: '{long} is shown as {short}',
    fix: 'give it a short name with "tools": { "rename": { … } }, or its server a short "prefix"',
  },
  D061: {
    about: 'schemas that clients refuse',
    says: '{tool} has a schema that {clients} would refuse',
    fix: TELL_AUTHOR,
  },
  'D061.repaired': { fix: 'nothing: the proxy has repaired it' },
  'D061.union': { why: 'it has {union} at the top, for which the whole request is refused' },
  'D061.items': { why: 'it has an array without items' },
  'D061.several': { why: 'items of an array have several types' },
  'D061.required': { why: 'it requires a property that it does not have' },
  'D061.long': { why: 'the name of a property is longer than {characters} characters' },
  D062: {
    about: 'equal and reserved names of tools',
    says: '{tool} is the name of a tool of {servers}',
    fix: 'give one of them a "prefix", or rename the tool',
  },
  D063: {
    about: 'long descriptions and instructions',
    level: 'note',
    says: 'the description of {tool} has {bytes} bytes, and Claude Code cuts it at 2,048',
    fix: 'write a shorter one with "tools": { "override": { … } }',
  },
  'D063.instructions': {
    says: 'the instructions of {server} have {bytes} bytes, and Claude Code cuts them at 2,048',
    fix: TELL_AUTHOR,
  },
  D064: {
    about: 'the size of the list of tools',
    level: 'note',
    says: 'the list of {count} tools takes about {tokens} tokens',
    fix: 'set "expose": "search", or give clients a view of fewer tools',
  },
  D065: {
    about: 'annotations of tools',
    level: 'note',
    says: '{count} of {all} tools of {server} lack annotations, so clients treat them as writing',
    fix: 'add "annotations" with "tools": { "override": { … } }',
  },
  D066: {
    about: 'tools that differ from the lock file',
    says: '{item} differs from the lock file: {what}',
    fix: "review it, then: mcp-proxy lock --accept {'item'}",
  },
  D067: {
    about: 'hidden characters in texts for models',
    says: 'the {member} of {item} has hidden characters: {characters}',
    fix: TELL_AUTHOR,
  },
  D068: {
    about: 'names that look alike',
    says: 'the name of {item} looks like that of {other}',
    fix: 'find out which one is meant, and hide the other with "tools": { "deny": [ … ] }',
  },
  'D068.mixed': { says: 'the name of {item} mixes Latin with Cyrillic or Greek letters' },
  D069: {
    about: 'descriptions that name tools of other servers',
    says: 'the description of {item} names {tool} of {other}',
    fix: 'make sure that it does not change how models use {tool}; replace it with "tools": { "override": { … } }',
  },
} as const satisfies CauseRows
