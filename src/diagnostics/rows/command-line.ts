import type { CauseRows } from '../row.js'

const NOT_A_TERMINAL = 'stdin is not a terminal; pass --yes'

/** Errors of the command line with a fix; errors about a single argument are in the verbs. */
export const COMMAND_LINE_CAUSES = {
  'cli.hung-daemon': {
    says: 'the daemon at {socket} does not answer (D042): {reason}',
    fix: 'mcp-proxy doctor --fix',
  },
  'cli.usage': { why: 'invalid arguments; nothing was changed', says: '{what}', fix: '{command} --help' },
  'cli.configuration': { says: '{what}', why: 'the configuration is invalid', fix: 'mcp-proxy doctor' },
  'cli.bug': { says: '{what}', why: 'this is a bug' },
  'cli.file': { says: '{what}', why: 'nothing was written to it' },
  'cli.unusable-file': {
    says: '{file} cannot be used (D011)',
    why: 'the errors are listed above',
    fix: "mcp-proxy check --config {'file'}",
  },
  'cli.no-servers': {
    says: '{file} does not define a valid server',
    fix: "mcp-proxy check --config {'file'}",
  },
  'cli.no-proxy': {
    says: 'no proxy of this user runs here',
    why: "no proxy is running for this configuration; for another user's proxy, pass --url",
    fix: 'mcp-proxy daemon start',
  },
  'cli.silent-daemon': {
    says: 'the daemon of this configuration does not answer (D042)',
    fix: 'mcp-proxy daemon restart, or pass --alone to start copies of the servers',
  },
  'cli.registry': {
    says: 'the registry {registry} cannot be reached',
    fix: 'mcp-proxy add {\'short\'} -- COMMAND, or set HTTPS_PROXY or "proxy" if the network needs a proxy',
  },
  'cli.registry-proxy': {
    says: 'the registry {registry} cannot be reached',
    fix: 'correct the proxy in HTTPS_PROXY, HTTP_PROXY or "proxy", or add the host to NO_PROXY',
  },
  'cli.registry-certificate': {
    says: 'the registry {registry} cannot be reached',
    why: 'its certificate is refused ({code})',
    fix: 'start with NODE_EXTRA_CA_CERTS=FILE, where FILE has the authority of the registry or company proxy',
  },
  'cli.no-pid': {
    says: 'no daemon of this user has the process id {pid}',
    fix: 'mcp-proxy daemon status --all',
  },
  'cli.not-restarted': {
    says: '{kept} has not started the proxy again',
    fix: 'mcp-proxy service status',
  },
  'cli.in-terminal': {
    says: 'a person runs this proxy in a terminal',
    fix: 'end it where it runs, and start it again',
  },
  'cli.no-cluster': {
    says: 'that proxy is not part of a cluster',
    why: 'its configuration has no "cluster" (docs/cluster.md), or it does not run as serve',
  },
  'cli.doctor': {
    says: 'doctor itself failed',
    fix: 'mcp-proxy check; and report it: a check that crashes is a bug',
  },
  'cli.fix-without-yes': { says: 'nothing was fixed: --fix needs --yes', why: 'stdin is not a terminal' },
  'cli.uninstall-without-yes': {
    says: `nothing was changed: ${NOT_A_TERMINAL}`,
    why: 'files of clients change only after a confirmation',
    fix: 'mcp-proxy uninstall{purge} --yes',
  },
  'cli.init-without-yes': {
    says: `nothing was written: ${NOT_A_TERMINAL}`,
    why: 'files change only after a confirmation',
    fix: 'mcp-proxy init --yes',
  },
  'cli.server-exists': {
    says: '{file} has a server "{server}"',
    why: 'nothing was written',
    fix: "mcp-proxy remove {'server'}",
  },
  'cli.no-tool': {
    says: 'there is no tool {tool}',
    why: 'the servers have {tools}, and none has this name',
    fix: 'mcp-proxy list',
  },
  'cli.no-tool-near': {
    says: 'there is no tool {tool}; did you mean {near}?',
    why: 'the servers have {tools}, and none has this name',
    fix: "mcp-proxy call {'near'}",
  },
  'cli.open-address': {
    says: '{host} can be reached from other machines, and there is no "auth"',
    fix: 'anyone who reaches the port can use every server. Give people tokens (see mcp-proxy auth token --help), or listen on 127.0.0.1. If something else guards the port, add --allow-remote, and name the hosts that clients use in listen.allowedHosts or with --allowed-host',
  },
  'cli.no-public-url': {
    says: '{host} can be reached from other machines',
    fix: 'set auth.publicUrl to the address under which clients reach the proxy, since tokens of authorization servers name it',
  },
} as const satisfies CauseRows
