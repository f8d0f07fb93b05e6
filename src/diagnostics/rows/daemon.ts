import type { CauseRows } from '../row.js'

/** The daemon, its service and its processes. */
export const DAEMON_CAUSES = {
  D040: {
    about: 'socket and lock of the daemon',
    says: '{path} was left behind by a proxy that has ended',
    fix: "rm {'path'}",
    autoFix: 'removes it',
  },
  D041: {
    about: 'the start of the daemon',
    level: 'error',
    says: 'the daemon does not start',
    fix: 'mcp-proxy daemon logs',
  },
  D042: {
    about: 'responses of the daemon',
    level: 'error',
    says: 'the daemon, pid {pid}, does not answer',
    why: 'it takes connections at {socket}, but did not answer within 3 s',
    fix: 'kill {pid}',
    autoFix: 'ends the process',
  },
  'D042.unknown': { says: 'the daemon, pid unknown, does not answer', fix: "lsof {'socket'}" },
  D043: {
    about: 'versions of daemon, service and shims',
    says: 'the daemon, pid {pid}, is mcp-proxy {running}, and {installed} is installed',
    fix: 'mcp-proxy daemon restart',
    autoFix: 'restarts the daemon',
  },
  'D043.kept': { why: 'it is kept by {kept}' },
  'D043.shim': {
    level: 'note',
    says: 'the shim of {client}, pid {pid}, is mcp-proxy {running}, and {installed} is installed',
    fix: 'restart {client}',
  },
  D044: {
    about: 'one daemon for each configuration',
    says: 'process {pid} also serves {file}, but without its private socket',
    fix: 'kill {pid}',
    autoFix: 'ends the one that does not have the socket',
  },
  D045: {
    about: 'the service',
    says: 'the service is not what would be installed today: {file}',
    fix: 'mcp-proxy service install',
    autoFix: 'rewrites the file',
  },
  'D045.no-linger': {
    level: 'note',
    says: 'the service ends when you log out: {file}',
    fix: 'loginctl enable-linger',
  },
  D046: {
    about: 'the place of the private socket',
    level: 'error',
    says: '{path} cannot hold the private socket',
    fix: 'make it a folder of your own, or name another one in MCP_PROXY_RUN_DIR',
  },
  'D046.denied': { why: 'this user may not connect to it' },
} as const satisfies CauseRows

/** Limits and leftover processes. */
export const LIMIT_CAUSES = {
  D080: {
    about: 'limits',
    says: 'the limit {limit} was reached {count} times',
    fix: 'look at what reached it in the log; raise it in "limits"',
  },
  'D080.set': { fix: 'raise it: "limits": { "{limit}": … }, or see mcp-proxy daemon logs' },
  D082: {
    about: 'processes of proxies that were killed',
    says: 'process {pid} was left behind by a proxy that was killed: {command}',
    fix: 'kill {pid}',
    autoFix: 'ends the process',
  },
} as const satisfies CauseRows
