import type { CauseRows } from '../row.js'

/** The clients and their files. */
export const CLIENT_CAUSES = {
  D050: {
    about: 'our entries in clients',
    says: '{client} does not start this proxy: {file}',
    fix: 'mcp-proxy install {id}',
    autoFix: 'installs the entry',
  },
  'D050.broken': { fix: 'correct {file}' },
  'D050.broken-unused': { level: 'note', fix: 'correct {file}' },
  'D050.gone': { why: 'the entry that was installed is gone' },
  'D050.absent': { level: 'note', why: 'its file does not contain this proxy' },
  D051: {
    about: 'servers configured in clients next to the proxy',
    says: '{server} is in {client} and behind the proxy: its tools appear twice',
    fix: 'mcp-proxy install {id} --take-over',
  },
  'D051.project': { fix: 'remove {server} from the project {project} in {file}, if it is the same there' },
  D052: {
    about: 'paths in our entries',
    says: 'the entry in {file} names {path}, which does not last',
    fix: 'mcp-proxy install --refresh',
    autoFix: 'rewrites all entries of this proxy with the current paths',
  },
  'D052.node': {
    says: '{path} is the Node of one version',
    fix: 'after an update: mcp-proxy install --refresh',
  },
  'D052.service': {
    says: '{path} belongs to one version',
    fix: 'after an update: mcp-proxy service install',
  },
  D053: {
    about: 'entries that run another package',
    level: 'error',
    says: '{client} runs the unrelated npm package mcp-proxy: {file}',
    why: 'its entry "{name}"',
    fix: 'mcp-proxy install {id}',
    autoFix: 'replaces it with the entry of this proxy',
  },
  D054: {
    about: 'files of projects',
    level: 'note',
    says: '{file} wins over the file of the user in {project}',
    fix: 'take "mcp-proxy" out of it, or: mcp-proxy install {id} --scope project',
  },
  D055: {
    about: 'entries with an address',
    level: 'error',
    says: '{client} calls {url}, but nothing listens there',
    fix: 'mcp-proxy service install --port {port}, or: mcp-proxy install {id} --via stdio',
  },
  D056: {
    about: 'tool limits of clients',
    says: '{count} tools, and {client} takes {cap}',
    fix: 'name it in "clients", with a "view" of fewer tools or with "expose": "search"',
  },
  'D056.search': {
    level: 'note',
    why: 'it is shown five tools by which it finds the others',
    fix: 'a view shows it fewer: mcp-proxy install {id} --view NAME',
  },
  D057: {
    about: 'clients that load all tools',
    level: 'note',
    says: '{client} loads all tools at once behind the API address {host}',
    fix: 'set "clients": { "claude-code": { "expose": "search" } }',
  },
  'D057.rules': {
    fix: 'search tools would get round its permission rules: move these to "tools": { "deny": […] } of the servers first',
  },
  D058: {
    about: 'permission rules of clients',
    says: 'the rule {rule} of {client} matches no tool behind the proxy: {file}',
    fix: 'change it to the new name of the tool, or: mcp-proxy install {id} --undo',
  },
  'D058.renamed': { fix: 'add {names} to the same list' },
  D059: {
    about: 'permission rules and search tools',
    says: '{client} may get search tools, by which calls get round its permission rule {rule}',
    fix: 'set "expose": "direct" for it, or move its rules to "tools": { "deny": […] } of the servers',
  },
} as const satisfies CauseRows
