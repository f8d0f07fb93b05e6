import type { ProblemRow } from './row.js'

/** The problems of clients and their files. */
export const CLIENT_PROBLEMS = {
  D050: {
    about: 'our entries in clients',
    says: '{client} does not start this proxy: {file}',
    fix: 'mcp-proxy install {id}',
    autoFix: 'installs the entry',
  },
  D051: {
    about: 'servers configured in clients next to the proxy',
    says: '{server} is in {client} and behind the proxy: its tools appear twice',
    fix: 'mcp-proxy install {id} --take-over',
  },
  D052: {
    about: 'paths in our entries',
    says: 'the entry in {file} names {path}, which does not last',
    fix: 'mcp-proxy install --refresh',
    autoFix: 'rewrites all entries of this proxy with the current paths',
  },
  D053: {
    about: 'entries that run another package',
    level: 'error',
    says: '{client} runs the unrelated npm package mcp-proxy: {file}',
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
  D057: {
    about: 'clients that load all tools',
    level: 'note',
    says: '{client} loads all tools at once behind the API address {host}',
    fix: 'set "clients": { "claude-code": { "expose": "search" } }',
  },
  D058: {
    about: 'permission rules of clients',
    says: 'the rule {rule} of {client} matches no tool behind the proxy: {file}',
    fix: 'change it to the new name of the tool, or: mcp-proxy install {id} --undo',
  },
  D059: {
    about: 'permission rules and search tools',
    says: '{client} may get search tools, by which calls get round its permission rule {rule}',
    fix: 'set "expose": "direct" for it, or move its rules to "tools": { "deny": […] } of the servers',
  },
} as const satisfies Readonly<Record<string, ProblemRow>>
