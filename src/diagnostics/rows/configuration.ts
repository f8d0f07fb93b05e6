import type { CauseRows } from '../row.js'

/** The configuration, its secrets and its variables. */
export const CONFIGURATION_CAUSES = {
  D010: {
    about: 'the configuration file',
    level: 'error',
    says: 'cannot read the configuration {file}',
    fix: 'mcp-proxy init',
  },
  'D010.unusable': { fix: 'correct the file, or name another one' },
  D011: {
    about: 'syntax, keys and types of the configuration',
    level: 'error',
    says: '{place}: {what}',
    fix: '{advice}',
  },
  'D011.warning': { level: 'warn' },
  D012: {
    about: 'permissions of files with secrets',
    says: 'others can read the secrets in {file}',
    fix: "chmod 600 {'file'}",
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
    label: 'reload refused',
    says: 'the running proxy rejected {file} and keeps its previous configuration',
    fix: 'correct the file; to see where: mcp-proxy check',
    command: 'mcp-proxy check',
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
    fix: "mcp-proxy remove {'other'}",
  },
  'D016.accounts': {
    level: 'note',
    why: 'their variables differ',
    fix: 'nothing, if both are needed, such as for two accounts',
  },
  D017: {
    about: 'servers that can read our secrets, and rules that cannot decide',
    says: '{server} can read {file}',
    fix: 'give {server} another folder than {folder}, in its "cwd" or its arguments',
  },
  'D017.covered': {
    says: '{rule} cannot decide: {earlier} decides about the same calls before it',
    fix: 'remove {rule}, or move it above {earlier}',
  },
  'D017.server': {
    says: '{rule} cannot decide: no server is named {pattern}',
    fix: 'correct its "server", or remove it',
  },
  'D017.person': {
    says: '{rule} cannot decide: nobody in auth.people is named {pattern}',
    fix: 'correct its "people", or add the person to auth.people',
  },
  'D017.scopes': {
    says: '{rule} cannot decide: without "auth", callers have no scopes',
    fix: 'add "auth", or remove its "scopes"',
  },
  'D017.client': {
    says: '{rule} allows what a later rule does not, by the name of the client, which any client can choose',
    fix: 'name "people" or "scopes" as well',
  },
  D018: {
    about: 'approvals that nobody can give',
    says: '{rule} asks another person: without "auth", there is none',
    fix: 'add "auth", or remove "of" from its "ask"',
  },
  'D018.scopes': {
    says: '{rule} asks a person with the scopes {scopes}, which no person or grant has',
    fix: 'correct "of", or give the scopes to a person',
  },
  'D018.page': {
    says: '{rule} asks on a page, and without "listen" there may be none',
    fix: 'add "listen", for example { "port": 8808 }',
  },
  D020: {
    about: 'variables',
    says: '{name} is not set, and {server} waits for it',
    fix: "write {name}='…' into {envFile}, or start a client that brings it",
  },
  'D020.server': {
    label: 'waiting',
    says: 'not set: {names}',
    fix: 'set it in envFile, or start a client that has it',
    command: 'mcp-proxy status --env',
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
  'D022.daemon': {
    says: 'the login shell {wrong}',
    fix: 'set PATH and other variables in envFile, or daemon.shellEnv to false',
  },
  D023: {
    about: 'files that ${file:…} names',
    level: 'error',
    says: '{place} needs the file {path}, which cannot be used',
    fix: 'create the file, or write another path',
  },
  D070: {
    about: 'the port',
    level: 'error',
    says: 'port {port} is taken by {who}',
    fix: 'choose another one: "listen": { "port": … }, or serve --port',
  },
  'D070.unused': { level: 'note' },
  D071: {
    about: 'access to the proxy',
    says: '{host} can be reached from other machines, and does not require a login',
    fix: 'set "listen": { "host": "127.0.0.1" }, or add "auth"',
  },
  'D071.local': {
    level: 'note',
    says: 'only this machine reaches the port of the service',
    fix: 'for a team: a login and TLS in front, and its name in listen.allowedHosts',
  },
} as const satisfies CauseRows
