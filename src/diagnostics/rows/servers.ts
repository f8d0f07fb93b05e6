import type { CauseRows } from '../row.js'

const CERTIFICATE =
  'name its authority with "tls": { "ca": "FILE" } in its entry, or start with NODE_EXTRA_CA_CERTS=FILE'
const CHECK_NETWORK = 'check the network, or a VPN that it needs'

/** Servers that do not start, cannot be reached, or refuse. */
export const SERVER_CAUSES = {
  D030: {
    about: 'programs of servers',
    level: 'error',
    label: 'not found',
    says: '{command} of {server} is not found',
    fix: 'install {command}, or write its whole path',
    command: "mcp-proxy doctor --server {'server'}",
  },
  'D030.npm': { fix: 'install Node with npm: https://nodejs.org' },
  'D030.node': { fix: 'install Node: https://nodejs.org' },
  'D030.uv': { fix: 'curl -LsSf https://astral.sh/uv/install.sh | sh' },
  'D030.uv-windows': { fix: 'powershell -c "irm https://astral.sh/uv/install.ps1 | iex"' },
  'D030.docker': { fix: 'install Docker: https://docs.docker.com/get-started/get-docker/' },
  'D030.bun': { fix: 'curl -fsSL https://bun.sh/install | bash' },
  D031: {
    about: 'start, handshake and lists of servers',
    level: 'error',
    label: 'unreachable',
    says: '{server} does not start',
    fix: "run its command by hand; for what it wrote: mcp-proxy daemon logs --server {'server'}",
    command: "mcp-proxy doctor --server {'server'}",
  },
  'D031.exited': { label: 'exited', command: "mcp-proxy logs {'server'}" },
  'D031.hangs': { label: 'hangs', command: "mcp-proxy logs {'server'}" },
  'D031.new': { fix: 'run its command by hand' },
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
  'D033.server': {
    label: 'waiting',
    says: 'no client has a known working folder',
    fix: 'open a folder in a client, or use connect --workspace',
    command: 'mcp-proxy connect --workspace DIR',
  },
  D034: {
    about: 'server output on stdout',
    label: 'noise',
    says: '{server} writes non-JSON-RPC output to stdout',
    fix: 'have it write its log to stderr; such lines are dropped',
    command: "mcp-proxy logs {'server'}",
  },
  'D034.line': { why: 'it wrote: {line}' },
  D035: {
    about: 'remote servers',
    level: 'error',
    label: 'unreachable',
    says: '{server} cannot be reached',
    fix: 'check its address, and whether it runs',
    command: "mcp-proxy doctor --server {'server'}",
  },
  'D035.hangs': { label: 'hangs', command: "mcp-proxy logs {'server'}" },
  'D035.lost': { label: 'exited', command: "mcp-proxy logs {'server'}" },
  'D035.http': {
    label: 'HTTP',
    fix: 'append "#/mcp" to its "url", or "#" and the path of its endpoint',
  },
  'D035.credentials': {
    label: 'credentials',
    fix: 'write an Authorization header into its "headers", or USER:PASSWORD@ before the host in its "url"',
  },
  'D035.unknown-host': { why: 'its name is not known to DNS', fix: 'check the host in its "url"' },
  'D035.no-dns': { why: 'DNS does not answer', fix: CHECK_NETWORK },
  'D035.no-listener': {
    why: 'nothing listens there',
    fix: 'start the server, or check the port in its "url"',
  },
  'D035.reset': { why: 'it hung up', fix: 'check whether it wants https instead of http' },
  'D035.no-route': { why: 'there is no route to it', fix: CHECK_NETWORK },
  'D035.expired': {
    why: 'its certificate has expired',
    fix: 'contact its operator; "tls": { "insecure": true } ignores certificates in tests',
  },
  'D035.self-signed': { why: 'its certificate is self-signed', fix: CERTIFICATE },
  'D035.unknown-authority': {
    why: 'its certificate is signed by an unknown authority',
    fix: CERTIFICATE,
  },
  'D035.unverified': { why: 'its certificate cannot be verified', fix: CERTIFICATE },
  'D035.other-host': {
    why: 'its certificate is for another host',
    fix: 'check the host in its "url", or name the other one with "tls": { "servername": "HOST" }',
  },
  'D035.certificate': {
    label: 'certificate',
    fix: 'add a client certificate that it accepts to its entry: "tls": { "cert": "FILE", "key": "FILE" }',
  },
  'D035.no-tls': { why: 'it does not speak TLS', fix: 'write http instead of https into its "url"' },
  'D035.proxy': {
    label: 'proxy',
    fix: 'correct the proxy in HTTPS_PROXY, HTTP_PROXY or "proxy", or add the host to NO_PROXY',
  },
  'D035.silent': { why: 'it does not answer' },
  'D035.failing': { why: 'it fails with {reason}' },
  'D035.path': { why: 'it answers {status} there', fix: 'write "url": "{url}"' },
  'D035.broken': { why: 'it answers {status}', fix: 'contact its operator' },
  'D035.refused': { why: 'it answers {status}' },
  'D035.reason': {
    label: 'HTTP {status}',
    fix: 'correct what its answer names, or contact its operator',
  },
  'D035.gateway': {
    label: 'gateway',
    fix: 'check that the server behind the gateway or reverse proxy is running, and the path in its "url"',
  },
  'D035.session': {
    label: 'session lost',
    fix: 'let its load balancer send a session to the same instance (by cookie or Mcp-Session-Id), or run one instance',
  },
  'D035.page': {
    label: 'not MCP',
    fix: 'check the path in its "url", and whether a gateway requires a login first',
  },
  'D035.status': { label: 'HTTP {status}' },
  D036: {
    about: 'logins at servers',
    says: '{server} requires a login',
    fix: "mcp-proxy auth login {'server'}",
  },
  'D036.credential': { fix: '{name} is wrong or has expired: write the new one into {envFile}' },
  'D036.new': {
    fix: 'give --header "Authorization: Bearer …", or --no-check and then: mcp-proxy auth login NAME',
  },
  'D036.last-answer': { says: 'its authorization server last answered: {answer}' },
  D037: {
    about: 'servers in containers',
    level: 'error',
    says: '{server} cannot run in its container',
    fix: 'start Docker',
  },
  'D037.no-stdin': {
    why: 'without -i, a container of {program} gets no stdin and exits at once',
    fix: 'put "-i" after "run" into its args',
  },
  D039: {
    about: 'servers that were given up',
    says: '{server} has failed {count} times in a short time',
    fix: "mcp-proxy daemon logs --server {'server'}",
  },
} as const satisfies CauseRows
