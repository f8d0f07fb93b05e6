import { CLIENT_PROBLEMS } from './client-rows.js'
import type { ProblemRow } from './row.js'

/**
 * Every problem that has a number, once: what is looked at, how bad it is, the sentence, the fix, and what
 * `mcp-proxy doctor --fix` does. Names in braces are filled in. Numbers never change their meaning, and are
 * not used again; docs/doctor.md explains each.
 */
export const PROBLEMS = {
  D001: {
    about: 'the version of Node',
    level: 'error',
    says: 'Node {version} is too old',
    fix: 'install Node 20.19, or 22.12 or newer: https://nodejs.org',
  },
  D002: {
    about: 'our own files',
    level: 'error',
    says: 'the installation in {folder} is damaged or half updated',
    fix: 'npm ci --prefix {folder}',
  },
  D004: {
    about: 'installations on PATH',
    says: '{one} and {other} are different installations',
    fix: 'remove one of them: npm uninstall -g mcp-proxy-daemon, using the npm in its folder',
  },
  D005: {
    about: 'the mcp-proxy on PATH',
    says: '{path} is another program of that name',
    fix: 'use {own}',
  },
  D006: {
    about: 'the folder of our state',
    level: 'error',
    says: '{what} {path}',
    fix: 'chmod 700 {path}',
    autoFix: 'gives the folder the rights 0700',
  },
  D010: {
    about: 'the configuration file',
    level: 'error',
    says: 'cannot read the configuration {file}',
    fix: 'mcp-proxy init',
  },
  D011: {
    about: 'syntax, keys and types of the configuration',
    level: 'error',
    says: '{place}: {what}',
    fix: '{advice}',
  },
  D012: {
    about: 'permissions of files with secrets',
    says: 'others can read the secrets in {file}',
    fix: 'chmod 600 {file}',
    autoFix: 'gives the file the rights 0600',
  },
  D013: {
    about: 'literal secrets',
    says: '{server}.{key} holds a secret',
    fix: 'mcp-proxy doctor --fix --only D013',
    autoFix: 'moves it into secrets.env and replaces it with ${NAME}',
  },
  D014: {
    about: 'the last reload',
    says: 'the running proxy rejected {file} and keeps its previous configuration',
    fix: 'correct the file; to see where: mcp-proxy check',
  },
  D015: {
    about: 'keys that wait for a restart',
    level: 'note',
    says: 'only after a restart: {keys}',
    fix: 'mcp-proxy daemon restart',
    autoFix: 'restarts the daemon',
  },
  D016: {
    about: 'duplicate servers',
    says: '{one} and {other} are the same server',
    fix: 'mcp-proxy remove {other}',
  },
  D017: {
    about: 'servers that can read our secrets',
    says: '{server} can read {file}',
    fix: 'give {server} another folder than {folder}, in its "cwd" or its arguments',
  },
  D020: {
    about: 'variables',
    says: '{name} is not set, and {server} waits for it',
    fix: "write {name}='…' into {envFile}, or start a client that brings it",
  },
  D021: {
    about: 'sources of variables',
    level: 'note',
    says: '{name} has one value in the login shell and another one in {envFile}, which wins',
    fix: 'keep the right one',
  },
  D022: {
    about: 'the login shell',
    says: 'cannot read the environment of the login shell {shell}',
    fix: 'set "daemon": { "shellEnv": false } in the configuration, and PATH in {envFile}',
  },
  D023: {
    about: 'files that ${file:…} names',
    level: 'error',
    says: '{place} needs the file {path}, which cannot be used',
    fix: 'create the file, or write another path',
  },
  D030: {
    about: 'programs of servers',
    level: 'error',
    says: '{command} of {server} is not found',
    fix: 'install {command}, or write its whole path',
  },
  D031: {
    about: 'start, handshake and lists of servers',
    level: 'error',
    says: '{server} does not start',
    fix: 'run its command by hand; for what it wrote: mcp-proxy daemon logs --server {server}',
  },
  D032: {
    about: 'startup time of servers',
    says: '{server} takes {seconds} s to start, and Codex waits for 10 s',
    fix: 'install its package once, or set "start": "eager" for it',
  },
  D033: {
    about: 'servers that need a workspace',
    level: 'note',
    says: '{server} waits for a client with a workspace',
    fix: 'open a folder in the client, or give it to the shim: mcp-proxy connect --workspace DIR',
  },
  D034: {
    about: 'server output on stdout',
    says: '{server} writes non-JSON-RPC output to stdout',
    fix: 'have it write its log to stderr; such lines are dropped',
  },
  D035: {
    about: 'remote servers',
    level: 'error',
    says: '{server} cannot be reached',
    fix: 'check its address, and whether it runs',
  },
  D036: {
    about: 'logins at servers',
    says: '{server} requires a login',
    fix: 'mcp-proxy auth login {server}',
  },
  D037: {
    about: 'servers in containers',
    level: 'error',
    says: '{server} cannot run in its container',
    fix: 'start Docker',
  },
  D039: {
    about: 'servers that were given up',
    says: '{server} has failed {count} times in a short time',
    fix: 'mcp-proxy daemon logs --server {server}',
  },
  D040: {
    about: 'socket and lock of the daemon',
    says: '{path} was left behind by a proxy that has ended',
    fix: 'rm {path}',
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
    fix: 'kill {pid}',
    autoFix: 'ends the process',
  },
  D043: {
    about: 'versions of daemon, service and shims',
    says: '{what} is mcp-proxy {running}, and {installed} is installed',
    fix: 'mcp-proxy daemon restart',
    autoFix: 'restarts the daemon',
  },
  D044: {
    about: 'one daemon for each configuration',
    says: 'process {pid} also serves {file}, but without its private socket',
    fix: 'kill {pid}',
    autoFix: 'ends the one that does not have the socket',
  },
  D045: {
    about: 'the service',
    says: 'the service {what}: {file}',
    fix: 'mcp-proxy service install',
    autoFix: 'rewrites the file',
  },
  D046: {
    about: 'the place of the private socket',
    level: 'error',
    says: '{path} cannot hold the private socket',
    fix: 'make it a folder of your own, or name another one in MCP_PROXY_RUN_DIR',
  },
  ...CLIENT_PROBLEMS,
  D060: {
    about: 'long names of tools',
    level: 'note',
    says: '{long} is shown as {short}',
    fix: 'give it a short name with "tools": { "rename": { … } }, or its server a short "prefix"',
  },
  D061: {
    about: 'schemas that clients refuse',
    says: '{tool} has a schema that {clients} would refuse',
    fix: 'tell the author of the server',
  },
  D062: {
    about: 'equal and reserved names of tools',
    says: '{tool} is the name of a tool of {servers}',
    fix: 'give one of them a "prefix", or rename the tool',
  },
  D063: {
    about: 'long descriptions and instructions',
    level: 'note',
    says: '{what} has {bytes} bytes, and Claude Code cuts it at 2,048',
    fix: 'write a shorter one with "tools": { "override": { … } }',
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
    about: 'tools that have changed',
    says: '{tool} has another {what} than when it was first seen',
    fix: 'look at it, then: mcp-proxy doctor --fix --only D066',
    autoFix: 'accepts the current tools as the reference',
  },
  D070: {
    about: 'the port',
    level: 'error',
    says: 'port {port} is taken by {who}',
    fix: 'choose another one: "listen": { "port": … }, or serve --port',
  },
  D071: {
    about: 'access to the proxy',
    says: '{reach}',
    fix: 'set "listen": { "host": "127.0.0.1" }, or add "auth"',
  },
  D080: {
    about: 'limits',
    says: 'the limit {limit} was reached {count} times',
    fix: 'look at what reached it in the log; raise it in "limits"',
  },
  D082: {
    about: 'processes of proxies that were killed',
    says: 'process {pid} was left behind by a proxy that was killed: {command}',
    fix: 'kill {pid}',
    autoFix: 'ends the process',
  },
} as const satisfies Readonly<Record<string, ProblemRow>>

/** A number such as `D030`. */
export type ProblemId = keyof typeof PROBLEMS
