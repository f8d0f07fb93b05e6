import { resolve } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { formatProblem } from '../../src/config/file/problem.js'
import { parseConfig } from '../../src/config/parse.js'
import { secretsOf } from '../../src/config/read/secrets.js'
import {
  type Loaded,
  PROTOCOL_VERSIONS,
  type ProxyConfig,
  type ServerConfig,
} from '../../src/config/types.js'
import { MODERN_REVISION } from '../../src/eras/shared/protocol.js'
import { DEFAULT_LIMITS } from '../../src/kernel/limits.js'
import { LEGACY_REVISIONS } from '../../src/model/revision.js'
import { runs } from '../support/property.js'

const FILE = '/etc/proxy/mcp.json'
const ENV = { HOME: '/home/ann', TOKEN: 's3cr3t-value', EMPTY: '', PORT: '9', BREAK: 'hush\r\nX-Evil: 1' }

const read = (text: string): Loaded => parseConfig(text, FILE, ENV)
const one = (entry: string): Loaded => read(`{ "mcpServers": { "a": ${entry} } }`)
const server = (entry: string): ServerConfig | undefined => one(entry).config?.servers[0]
const told = (loaded: Loaded): string[] => loaded.problems.map(formatProblem)

// Every expected line is the whole line that a user sees; the entry of server "a" begins in column 24.
const at = (column: number, rest: string): string => `${FILE}:1:${column}: ${rest}`

const KEY = Buffer.alloc(32, 7).toString('base64')

const LISTEN = {
  http: true,
  host: '127.0.0.1',
  port: 8808,
  allowedHosts: [],
  allowedOrigins: [],
  sse: true,
  ws: true,
  socket: undefined,
  isGiven: true,
}

/** What holds where a file says nothing of it. */
const DEFAULTS = {
  pageSize: 10_000,
  startupWaitMs: 4500,
  drainMs: 10_000,
  limits: DEFAULT_LIMITS,
  proxy: undefined,
  auth: undefined,
  cluster: undefined,
  audit: undefined,
  logLevel: 'info',
  daemon: { idleMs: 600_000, shellEnv: true },
  knownServers: true,
  metrics: { listen: undefined, token: undefined, tools: 'counters', series: 2000 },
  tracing: undefined,
  slowMs: Number.POSITIVE_INFINITY,
  views: [],
  clients: [],
  expose: { tokens: 10_000 },
  resultsMax: 48_000,
  credentialStore: 'file',
  variables: [],
  stateKeys: [],
} as const

t.test('a server that says only what it must gets every default', async t => {
  t.strictSame(one('{ "command": "x" }'), {
    config: {
      servers: [
        {
          name: 'a',
          prefix: undefined,
          transport: {
            kind: 'stdio',
            command: 'x',
            args: [],
            env: Object.create(null),
            unsetEnv: [],
            cwd: resolve('/etc/proxy'),
          },
          tags: [],
          description: undefined,
          tools: {
            allow: undefined,
            deny: [],
            rename: Object.create(null),
            override: Object.create(null),
          },
          access: { see: [], call: [] },
          oauth: undefined,
          credentials: 'shared',
          signInTool: true,
          trustAnnotations: true,
          uris: 'prefix',
          sharing: 'principal',
          start: 'lazy',
          era: 'auto',
          protocolVersion: undefined,
          timeouts: {
            connectMs: 60_000,
            initializeMs: 60_000,
            probeMs: 10_000,
            listMs: 15_000,
            callMs: Number.POSITIVE_INFINITY,
            totalMs: Number.POSITIVE_INFINITY,
            tools: [],
            pingMs: 30_000,
          },
          limits: {},
          restart: { firstMs: 500, maxMs: 30_000, failures: 5, windowMs: 60_000, retryMs: 60_000 },
          idleStopMs: 900_000,
          replay: false,
          serialize: false,
          propagate: true,
          written: { command: 'x', args: [] },
        },
      ],
      waiting: [],
      listen: { ...LISTEN, isGiven: false },
      ...DEFAULTS,
    },
    problems: [],
    disabled: [],
  })
  t.equal(server('{ "url": "http://h/" }')?.sharing, 'session')
})

t.test('everything that can be said arrives', async t => {
  const loaded = read(`{
    // JSON with comments
    "$schema": "./x.json",
    "mcpServers": {
      "a": {
        "command": "x", "args": ["1", "2"], "env": { "N": 12345678901234567890, "F": 1.0, "B": true, "S": "s", "GONE": null },
        "cwd": "sub", "type": "stdio", "prefix": "my-pre_fix",
        "tools": {
          "allow": ["*"], "deny": ["del*"], "rename": { "x": "y.z" },
          "override": { "x": { "title": "T", "description": "D", "annotations": { "readOnlyHint": true } } },
        },
        "uris": "preserve", "sharing": "all", "start": "eager", "era": "legacy", "protocolVersion": "2025-06-18",
        "timeouts": { "connect": "500ms", "initialize": "700ms", "probe": "1s", "list": 2000, "call": "off", "total": "1.5h", "tools": { "x*": "2m", "*": "off" }, "ping": "off" },
        "limits": { "message": "16MiB", "callsPerServer": 7, "stall": "5s" },
        "restart": { "first": "1s", "max": "10s", "failures": 3, "window": "30s", "retry": "5m" }, "idleStop": "off",
        "replay": true, "serialize": true, "disabled": false, "enabled": true,
      },
      /* and trailing commas */
    },
    "listen": {
      "http": true, "host": "::1", "port": 0, "allowedHosts": ["h"], "allowedOrigins": ["https://o"],
      "sse": false, "ws": false, "socket": "unix:\${HOME}/mcp.sock",
    },
    "pageSize": 9000, "knownServers": false, "startupWait": 0, "drain": "1m",
    "audit": "log/audit.jsonl", "auditArguments": true, "log": { "level": "silent" },
    "requestState": { "keys": ["${KEY}"] },
    "limits": { "sessions": 5, "body": 4194304, "listBytes": "1.5 MB", "sessionIdle": "1h" },
  }`)
  t.strictSame(told(loaded), [])
  t.same(loaded.config, {
    servers: [
      {
        name: 'a',
        prefix: 'my-pre_fix',
        transport: {
          kind: 'stdio',
          command: 'x',
          args: ['1', '2'],
          env: { N: '12345678901234567890', F: '1.0', B: 'true', S: 's' },
          unsetEnv: ['GONE'],
          cwd: resolve('/etc/proxy/sub'),
        },
        tags: [],
        description: undefined,
        tools: {
          allow: ['*'],
          deny: ['del*'],
          rename: { x: 'y.z' },
          override: { x: { title: 'T', description: 'D', annotations: { readOnlyHint: true } } },
        },
        access: { see: [], call: [] },
        oauth: undefined,
        credentials: 'shared',
        signInTool: true,
        trustAnnotations: true,
        uris: 'preserve',
        sharing: 'all',
        start: 'eager',
        era: 'legacy',
        protocolVersion: '2025-06-18',
        timeouts: {
          connectMs: 500,
          initializeMs: 700,
          probeMs: 1000,
          listMs: 2000,
          callMs: Number.POSITIVE_INFINITY,
          totalMs: 5_400_000,
          tools: [
            ['x*', 120_000],
            ['*', Number.POSITIVE_INFINITY],
          ],
          pingMs: Number.POSITIVE_INFINITY,
        },
        limits: { message: 16 * 2 ** 20, callsPerServer: 7, stall: 5000 },
        restart: { firstMs: 1000, maxMs: 10_000, failures: 3, windowMs: 30_000, retryMs: 300_000 },
        idleStopMs: Number.POSITIVE_INFINITY,
        replay: true,
        serialize: true,
        propagate: true,
        written: { command: 'x', args: ['1', '2'], cwd: 'sub' },
      },
    ],
    waiting: [],
    listen: {
      http: true,
      host: '::1',
      port: 0,
      allowedHosts: ['h'],
      allowedOrigins: ['https://o'],
      sse: false,
      ws: false,
      socket: '/home/ann/mcp.sock',
      isGiven: true,
    },
    pageSize: 9000,
    startupWaitMs: 0,
    drainMs: 60_000,
    limits: {
      ...DEFAULT_LIMITS,
      sessions: 5,
      body: 4_194_304,
      listBytes: 1_500_000,
      sessionIdle: 3_600_000,
    },
    auth: undefined,
    audit: { to: { file: resolve('/etc/proxy/log/audit.jsonl') }, withArguments: true },
    logLevel: 'silent',
    credentialStore: 'file',
    daemon: { idleMs: 600_000, shellEnv: true },
    knownServers: false,
    metrics: { listen: undefined, token: undefined, tools: 'counters', series: 2000 },
    ...{ tracing: undefined, slowMs: Number.POSITIVE_INFINITY },
    views: [],
    clients: [],
    expose: { tokens: 10_000 },
    resultsMax: 48_000,
    variables: [{ name: 'HOME', value: '/home/ann', from: 'environment' }],
    stateKeys: [KEY],
  })
})

t.test('variables are put in place wherever a server is described', async t => {
  t.same(
    server(`{
      "command": "~/bin/\${PORT}", "args": ["\${env:TOKEN}", "$\${TOKEN}", "\${NOPE:-d}"],
      "env": { "A": "\${env:NOPE:-e}", "B": "x\${EMPTY}y" }, "cwd": "~/w/\${PORT}"
    }`)?.transport,
    {
      kind: 'stdio',
      command: '/home/ann/bin/9',
      args: ['s3cr3t-value', '${TOKEN}', 'd'],
      env: { A: 'e', B: 'xy' },
      unsetEnv: [],
      cwd: resolve('/home/ann/w/9'),
    },
  )
  t.same(
    server('{ "url": "http://h:${PORT}/", "headers": { "Authorization": "Bearer ${TOKEN}" } }')?.transport,
    { kind: 'auto', url: 'http://h:9/', headers: { Authorization: 'Bearer s3cr3t-value' } },
  )
  t.match(parseConfig('{"mcpServers":{"a":{"command":"~/x"}}}', FILE, {}).problems, [
    { key: 'mcpServers.a.command', message: 'cannot expand "~": the home folder is unknown' },
  ])
})

t.test('arguments get the variables of their own entry first', async t => {
  const program = (entry: string) => server(entry)?.transport
  const env = '"env": { "TOKEN": "Bearer ${TOKEN}", "EMPTY": "", "N": 1, "ROOT": "${workspaceFolder}" }'
  t.match(
    program(`{ "command": "\${N}x", "cwd": "/w/\${N}", ${env},
      "args": ["A:\${TOKEN}", "\${env:TOKEN}", "$\${TOKEN}", "\${EMPTY:-d}", "\${N}\${PORT}", "\${ROOT}/a"] }`),
    {
      command: '1x',
      cwd: resolve('/w/1'),
      args: ['A:Bearer s3cr3t-value', 's3cr3t-value', '${TOKEN}', 'd', '19', '${workspaceFolder}/a'],
      env: { TOKEN: 'Bearer s3cr3t-value' },
    },
  )
  t.match(
    program(`{ "command": "bash", ${env}, "args": ["-c", "x '\${TOKEN}' \${PORT}"] }`),
    { args: ['-c', "x '${TOKEN}' 9"] },
    'a shell has its own variables',
  )
})

t.test('every way to name a transport leads to one of six', async t => {
  const kinds: Record<string, string> = {
    '{ "type": "stdio", "command": "x" }': 'stdio',
    '{ "type": "http", "url": "https://h/" }': 'http',
    '{ "type": "streamable-http", "url": "https://h/" }': 'http',
    '{ "type": "streamableHttp", "url": "https://h/" }': 'http',
    '{ "type": "sse", "url": "https://h/" }': 'sse',
    '{ "type": "ws", "url": "wss://h/" }': 'ws',
    '{ "type": "websocket", "url": "ws://h/" }': 'ws',
    '{ "type": "streamable_http", "url": "https://h/" }': 'http',
    '{ "type": "StreamableHttp", "url": "https://h/" }': 'http',
    '{ "type": "http-stream", "url": "https://h/" }': 'http',
    '{ "type": "SSE", "url": "https://h/" }': 'sse',
    '{ "type": "WebSocket", "url": "ws://h/" }': 'ws',
    '{ "type": "STDIO", "command": "x" }': 'stdio',
    '{ "type": "local", "command": "x" }': 'stdio',
    '{ "type": "remote", "url": "https://h/" }': 'auto',
    '{ "url": "wss://h/" }': 'ws',
    '{ "url": "WS://h/" }': 'ws',
    '{ "url": "http://h/" }': 'auto',
    '{ "serverUrl": "https://h/" }': 'auto',
    '{ "httpUrl": "https://h/" }': 'auto',
    '{ "url": "unix:///run/x.sock" }': 'socket',
    '{ "url": "unix:/run/x.sock" }': 'socket',
    '{ "url": "pipe:///x" }': 'socket',
    '{ "url": "unix:///run/x.sock#/mcp" }': 'auto',
    '{ "url": "pipe:///x#/mcp", "headers": { "A": "b" }, "forwardHeaders": ["X-*"] }': 'auto',
    '{ "url": "unix:///run/x.sock#/mcp", "type": "streamable-http" }': 'http',
    '{ "url": "unix:///run/x.sock#/sse", "type": "sse" }': 'sse',
  }
  for (const [entry, kind] of Object.entries(kinds)) {
    t.strictSame(told(one(entry)), [], entry)
    t.equal(server(entry)?.transport.kind, kind, entry)
  }
})

t.test('a revision determines its era, and an era may be given alone', async t => {
  for (const version of LEGACY_REVISIONS) {
    t.match(server(`{ "command": "x", "protocolVersion": "${version}" }`), {
      era: 'legacy',
      protocolVersion: version,
    })
  }
  t.match(server('{ "command": "x", "protocolVersion": "2026-07-28" }'), { era: 'modern' })
  t.match(server('{ "command": "x", "era": "modern", "protocolVersion": "2026-07-28" }'), { era: 'modern' })
  for (const era of ['auto', 'modern', 'legacy']) {
    t.match(server(`{ "url": "http://h/", "era": "${era}" }`), { era, protocolVersion: undefined })
  }
  t.match(server('{ "url": "http://h/", "type": "sse", "protocolVersion": "2024-11-05" }'), { era: 'legacy' })
  t.same(PROTOCOL_VERSIONS, [...LEGACY_REVISIONS, MODERN_REVISION], 'all that we speak can be asked for')
})

t.test('restarts that would keep the machine busy, or make no sense, cost the server', async t => {
  const rows: [entry: string, key: string, message: RegExp][] = [
    ['"command": "x", "restart": { "first": "10ms" }', 'restart.first', /too short/],
    ['"command": "x", "restart": { "retry": "0s" }', 'restart.retry', /too short/],
    [
      '"command": "x", "restart": { "first": "5s", "max": "2s" }',
      'restart.max',
      /shorter than restart.first/,
    ],
    ['"command": "x", "restart": { "failures": 0 }', 'restart.failures', /out of range|too small|range/],
    ['"command": "x", "idleStop": 0', 'idleStop', /too short/],
  ]
  for (const [entry, key, message] of rows) {
    const loaded = one(`{ ${entry} }`)
    t.match(loaded.problems, [{ severity: 'error', key: `mcpServers.a.${key}`, message }], entry)
    t.same(loaded.disabled, [{ name: 'a', why: 'invalid' }], entry)
  }
  t.match(server('{ "command": "x", "restart": { "first": "1m" } }')?.restart, {
    firstMs: 60_000,
    maxMs: 60_000,
  })
})

t.test('an era that contradicts the revision or the transport costs the server', async t => {
  const rows: [entry: string, key: string, message: RegExp][] = [
    [
      '"command": "x", "era": "modern", "protocolVersion": "2025-11-25"',
      'protocolVersion',
      /not a revision of/,
    ],
    [
      '"command": "x", "era": "legacy", "protocolVersion": "2026-07-28"',
      'protocolVersion',
      /not a revision of/,
    ],
    ['"url": "http://h/", "type": "sse", "era": "modern"', 'era', /HTTP\+SSE is older/],
    [
      '"url": "http://h/", "type": "sse", "protocolVersion": "2026-07-28"',
      'protocolVersion',
      /HTTP\+SSE is older/,
    ],
    ['"command": "x", "era": "new"', 'era', /not allowed/],
    ['"command": "x", "protocolVersion": "2024-10-07"', 'protocolVersion', /not allowed/],
    ['"command": "x", "timeouts": { "probe": 0 }', 'timeouts.probe', /too short/],
    ['"command": "x", "timeouts": { "ping": 0 }', 'timeouts.ping', /too short/],
    ['"command": "x", "timeouts": { "tools": { "a*": "600h" } }', 'timeouts.tools.a*', /too long/],
    ['"command": "x", "timeouts": { "tools": { "a*": "soon" } }', 'timeouts.tools.a*', /right form/],
    ['"command": "x", "timeouts": { "tools": { "": "5m" } }', 'timeouts.tools.', /name is not allowed/],
  ]
  for (const [entry, key, message] of rows) {
    const loaded = one(`{ ${entry} }`)
    t.match(loaded.problems, [{ severity: 'error', key: `mcpServers.a.${key}`, message }], entry)
    t.same(loaded.disabled, [{ name: 'a', why: 'invalid' }], entry)
  }
})

t.test('a socket is a path, variables and all, and each client has a connection of its own', async t => {
  t.match(server('{ "url": "unix://${HOME}/my%20x.sock" }'), {
    transport: { kind: 'socket', path: '/home/ann/my x.sock' },
    sharing: 'session',
    written: { url: 'unix://${HOME}/my%20x.sock' },
  })
  t.match(server('{ "url": "pipe:///mcp" }')?.transport, { path: '\\\\.\\pipe\\mcp' })
})

t.test('HTTP over a socket has headers, but no login, proxy or TLS', async t => {
  const entry = `{ "url": "unix://\${HOME}/x.sock#/mcp?k=v", "headers": { "A": "b" } }`
  t.match(server(entry), {
    transport: {
      kind: 'auto',
      url: 'http://localhost/mcp?k=v',
      socketPath: '/home/ann/x.sock',
      headers: { A: 'b' },
    },
    written: { url: 'unix://${HOME}/x.sock#/mcp?k=v' },
  })
  t.equal(server(entry)?.oauth, undefined)
  t.notOk('proxy' in (server(entry)?.transport ?? {}))
  t.match(told(one('{ "url": "unix:///x#/", "tls": {}, "proxy": "http://p:1" }')), [
    /ignored: a socket is on this machine/,
    /ignored: a socket is on this machine/,
  ])
  t.match(told(one('{ "url": "unix:///x#/", "credentials": "per-principal" }')), [/do not use logins/])
})

t.test('a shared file may keep our keys apart, and they win there', async t => {
  const entry =
    '{ "command": "x", "disabled": true, "sharing": "all", "x-mcp-proxy": { "enabled": true, "sharing": "session" } }'
  t.strictSame(told(one(entry)), [])
  t.equal(server(entry)?.sharing, 'session')
  t.strictSame(one('{ "command": "x", "x-mcp-proxy": { "disabled": true } }').disabled, [
    { name: 'a', why: 'disabled' },
  ])
  t.strictSame(told(one('{ "command": "x", "x-mcp-proxy": { "uris": 1, "command": "y" } }')), [
    at(
      67,
      'error: mcpServers.a.x-mcp-proxy.uris: this value is not allowed here. Write "prefix" or "preserve".',
    ),
    at(
      70,
      'warning: mcpServers.a.x-mcp-proxy.command: unknown key, ignored. Check its spelling, or remove it.',
    ),
  ])
})

const BAD_SERVERS: Record<string, string[]> = {
  '{}': [
    at(
      19,
      'error: mcpServers.a: neither "command" nor "url" is given. Write "command" for a program to start, or "url" for a server that runs elsewhere.',
    ),
  ],
  '[]': [
    at(
      24,
      'error: mcpServers.a: expected an object, found a list. Write an object, such as { "command": "npx", "args": ["-y", "some-server"] }.',
    ),
  ],
  '{ "command": "x", "url": "http://h/" }': [
    at(19, 'error: mcpServers.a: "command" and "url" exclude each other. Keep one of the two.'),
  ],
  '{ "command": 5 }': [
    at(
      37,
      'error: mcpServers.a.command: expected a string, found a number. Write the program to start, such as "npx"; its arguments go into "args".',
    ),
  ],
  '{ "command": "" }': [
    at(
      37,
      'error: mcpServers.a.command: this is empty. Write the program to start, such as "npx"; its arguments go into "args".',
    ),
  ],
  '{ "command": "${EMPTY}" }': [
    at(
      37,
      'error: mcpServers.a.command: this is empty after its variables are expanded. Check the variables in it.',
    ),
  ],
  '{ "command": "x", "args": "-y" }': [
    at(
      50,
      'error: mcpServers.a.args: expected a list, found a string. Write a list of strings, such as ["-y", "some-server"]; put numbers in quotes too.',
    ),
  ],
  '{ "command": "x", "args": ["-p", 80] }': [
    at(
      57,
      'error: mcpServers.a.args.1: expected a string, found a number. Write a list of strings, such as ["-y", "some-server"]; put numbers in quotes too.',
    ),
  ],
  '{ "command": "x", "args": ["${NOPE}", "${TOKEN}"] }': [
    at(
      51,
      'error: mcpServers.a.args.0: the variable NOPE is not set. Set it in the environment of the proxy, or write ${NOPE:-default}. (D020)',
    ),
  ],
  '{ "command": "x", "args": ["${pathSeparator}"] }': [
    at(
      51,
      'error: mcpServers.a.args.0: the variable pathSeparator is not set. Only an editor knows it: write the path itself. (D020)',
    ),
  ],
  '{ "command": "x", "args": ["${input:token}"] }': [
    at(
      51,
      'error: mcpServers.a.args.0: invalid variable after "${". Write ${NAME} or ${NAME:-default} for a variable, or $${ for the signs themselves.',
    ),
  ],
  '{ "command": "x", "args": ["\\u0000"] }': [
    at(51, 'error: mcpServers.a.args.0: this contains a NUL character. Remove it here or from its variable.'),
  ],
  '{ "command": "x", "env": { "A": [1] } }': [
    at(
      56,
      'error: mcpServers.a.env.A: this value is not allowed here. Write names and values, such as { "LANG": "C", "DEBUG": null }.',
    ),
  ],
  '{ "command": "x", "env": { "A=B": "" } }': [
    at(
      51,
      'error: mcpServers.a.env.A=B: this name is not allowed here. Use a name that is not empty and holds no "=".',
    ),
  ],
  '{ "url": "nowhere" }': [
    at(
      33,
      'error: mcpServers.a.url: this is not the address of a server. Write a whole address, such as "https://example.com/mcp".',
    ),
  ],
  '{ "serverUrl": "file:///x" }': [
    at(
      39,
      'error: mcpServers.a.serverUrl: the scheme of this address is not supported. Write an address that begins with "http://", "https://", "ws://", "wss://", "unix:/" or "pipe:///".',
    ),
  ],
  '{ "url": "file:///x", "type": "http" }': [
    at(
      33,
      'error: mcpServers.a.url: the address of a server of type "http" must begin with "http://" or "https://". Change the address or "type".',
    ),
  ],
  '{ "url": "unix:run/x.sock" }': [
    at(
      33,
      'error: mcpServers.a.url: this is not the address of a socket. Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe.',
    ),
  ],
  '{ "url": "unix:///run/x.sock", "type": "sse" }': [
    at(
      33,
      'error: mcpServers.a.url: a socket carries HTTP only if its address names a path after "#". Append "#/mcp", or remove "type" for a server that reads one message per line.',
    ),
  ],
  '{ "url": "http://h/", "type": "ws" }': [
    at(
      33,
      'error: mcpServers.a.url: the address of a server of type "ws" must begin with "ws://" or "wss://". Change the address or "type".',
    ),
  ],
  '{ "url": "http://h/", "type": "stdio" }': [
    at(
      54,
      'error: mcpServers.a.type: this type needs "command", not "url". Remove "type", or write the key that it needs.',
    ),
  ],
  '{ "command": "x", "type": "http" }': [
    at(
      50,
      'error: mcpServers.a.type: this type needs "url", not "command". Remove "type", or write the key that it needs.',
    ),
  ],
  '{ "command": "x", "type": "grpc" }': [
    at(
      50,
      'error: mcpServers.a.type: this value is not allowed here. Write "stdio", "http", "sse" or "ws", or leave it out.',
    ),
  ],
  '{ "url": "http://h/", "headers": { "A": "${BREAK}" } }': [
    at(
      64,
      'error: mcpServers.a.headers.A: this contains a line break or a character that is not allowed in headers. Remove it here or from the variable.',
    ),
  ],
  '{ "url": "http://h/", "headers": { "A:": "" } }': [
    at(
      59,
      "error: mcpServers.a.headers.A:: this name is not allowed here. Use only letters, digits and the signs !#$%&'*+-.^_`|~ in the name of a header.",
    ),
  ],
  '{ "command": "x", "tools": { "rename": { "a": "z", "b": "z" } } }': [
    at(80, 'error: mcpServers.a.tools.rename.b: two tools have this name. Give each tool a name of its own.'),
  ],
  '{ "command": "x", "tools": { "rename": { "a": "two words" } } }': [
    at(
      70,
      'error: mcpServers.a.tools.rename.a: this string does not have the right form. Use 1 to 64 letters, digits, "_", "-" and "." for the new name.',
    ),
  ],
  '{ "command": "x", "timeouts": { "call": "5 minutes" } }': [
    at(
      64,
      'error: mcpServers.a.timeouts.call: this string does not have the right form. Write a number with its unit in quotes, such as "30s", "5m" or "1h", or "off".',
    ),
  ],
  '{ "command": "x", "timeouts": { "connect": "off" } }': [
    at(
      67,
      'error: mcpServers.a.timeouts.connect: this string does not have the right form. Write a number with its unit in quotes, such as "500ms", "30s", "5m" or "1h".',
    ),
  ],
  '{ "command": "x", "timeouts": { "list": 0 } }': [
    at(
      64,
      'error: mcpServers.a.timeouts.list: this duration is too short. Write a duration between 1 ms and 596 h.',
    ),
  ],
  '{ "command": "x", "timeouts": { "total": "600h" } }': [
    at(
      65,
      'error: mcpServers.a.timeouts.total: this duration is too long. Write a duration between 1 ms and 596 h.',
    ),
  ],
  '{ "command": "x", "disabled": "yes" }': [
    at(
      54,
      'error: mcpServers.a.disabled: expected true or false, found a string. Write true or false, without quotes.',
    ),
  ],
}

for (const prefix of ['"1a"', '"a__b"', '"a_"', '""', '"a b"', `"${'a'.repeat(25)}"`, 'true']) {
  BAD_SERVERS[`{ "command": "x", "prefix": ${prefix} }`] = [
    at(
      52,
      `error: mcpServers.a.prefix: ${
        prefix === 'true' ? 'this value is not allowed here' : 'this string does not have the right form'
      }. Use 1 to 24 letters, digits, "-" and "_", beginning with a letter, without "__" and not ending in "_"; or false.`,
    ),
  ]
}

t.test('a pattern that no matcher takes costs its server, not the proxy', async t => {
  for (const pattern of ['', 'x'.repeat(201)]) {
    const file = { mcpServers: { a: { command: 'x', tools: { deny: [pattern] } }, b: { command: 'y' } } }
    const { config, disabled } = parseConfig(JSON.stringify(file), 'f.json', {})
    t.same(disabled, [{ name: 'a', why: 'invalid' }])
    t.same(
      config?.servers.map(({ name }) => name),
      ['b'],
    )
  }
})

t.test('an error in one server is reported with its place, and disables only that server', async t => {
  for (const [entry, expected] of Object.entries(BAD_SERVERS)) {
    t.strictSame(told(one(entry)), expected, entry)
    const loaded = read(`{ "mcpServers": { "a": ${entry}, "b": { "command": "x" } } }`)
    t.strictSame(loaded.disabled, [{ name: 'a', why: 'invalid' }], entry)
    t.strictSame(
      loaded.config?.servers.map(s => s.name),
      ['b'],
      entry,
    )
  }
})

const ODD_SERVERS: Record<string, string[]> = {
  '{ "command": "x", "arg": [] }': [
    at(42, 'warning: mcpServers.a.arg: unknown key, ignored. Did you mean "args"?'),
  ],
  '{ "command": "x", "Share-ing": 1 }': [
    at(42, 'warning: mcpServers.a.Share-ing: unknown key, ignored. Did you mean "sharing"?'),
  ],
  '{ "command": "x", "zebra": 1 }': [
    at(42, 'warning: mcpServers.a.zebra: unknown key, ignored. Check its spelling, or remove it.'),
  ],
  '{ "command": "x", "tools": { "alow": [] } }': [
    at(53, 'warning: mcpServers.a.tools.alow: unknown key, ignored. Did you mean "allow"?'),
  ],
  '{ "command": "x", "tools": { "override": { "t": { "titel": "" } } } }': [
    at(74, 'warning: mcpServers.a.tools.override.t.titel: unknown key, ignored. Did you mean "title"?'),
  ],
  '{ "command": "x", "timeouts": { "calls": 1000 } }': [
    at(56, 'warning: mcpServers.a.timeouts.calls: unknown key, ignored. Did you mean "call"?'),
  ],
  '{ "command": "x", "timeout": 60 }': [
    at(
      42,
      'warning: mcpServers.a.timeout: this key belongs to other programs and is ignored here. For calls through this proxy set timeouts.call, for example "timeouts": { "call": "60s" }.',
    ),
  ],
  '{ "command": "x", "excludeTools": ["rm"] }': [
    at(
      42,
      'warning: mcpServers.a.excludeTools: this key belongs to other programs and is ignored here. To hide tools set tools.deny.',
    ),
  ],
  '{ "command": "x", "alwaysAllow": [], "autoApprove": [], "trust": true, "description": "", "//": "", "_note": 1 }':
    [],
  '{ "command": "x", "timeouts": { "connect": 30 } }': [
    at(
      67,
      'warning: mcpServers.a.timeouts.connect: 30 is read as milliseconds. Write "30s" for seconds, or "30ms" if milliseconds are meant.',
    ),
  ],
  '{ "command": "x", "timeouts": { "call": "30m" } }': [],
  '{ "command": "x", "timeouts": { "total": "10m" } }': [],
  '{ "command": "x", "timeouts": { "call": "30m", "total": "10m" } }': [
    at(
      64,
      'warning: mcpServers.a.timeouts.call: longer than timeouts.total (600 s), which ends the call first. Set timeouts.total to more, or to "off".',
    ),
  ],
  '{ "command": "x", "timeouts": { "call": "off", "total": "1h" } }': [],
  '{ "command": "npx -y thing --key s3cr3t" }': [
    at(
      37,
      'warning: mcpServers.a.command: this is read as the name of one program, with spaces. Write "command": "npx" and each further word into "args".',
    ),
  ],
  '{ "command": "KEY=s3cr3t npx thing" }': [
    at(
      37,
      'warning: mcpServers.a.command: this is read as the name of one program, with spaces. Write only the program into "command" and each further word into "args".',
    ),
  ],
  '{ "command": "/opt/My Programs/x" }': [],
  '{ "command": "a b", "args": ["c"] }': [],
  '{ "command": "x", "headers": {} }': [
    at(42, 'warning: mcpServers.a.headers: ignored: programs do not take headers. Remove it.'),
  ],
  '{ "url": "unix:/run/x.sock", "headers": { "A": "${NOPE}" } }': [
    at(
      53,
      'warning: mcpServers.a.headers: ignored: sockets take headers only with a path after "#" in the address, for HTTP. Remove it.',
    ),
  ],
  '{ "url": "http://h/", "args": [] }': [
    at(46, 'warning: mcpServers.a.args: ignored: only a program has this. Remove it.'),
  ],
  '{ "url": "http://h/", "httpUrl": "http://i/" }': [
    at(46, 'warning: mcpServers.a.httpUrl: ignored, because another address is given. Keep one.'),
  ],
  '{ "command": "x", "command": "y" }': [
    at(42, 'warning: mcpServers.a.command: this key is repeated, and the last one wins. Keep one of them.'),
  ],
}

t.test('what is odd about a server is told, and the server is used', async t => {
  for (const [entry, expected] of Object.entries(ODD_SERVERS)) {
    t.strictSame(told(one(entry)), expected, entry)
    t.equal(one(entry).config?.servers.length, 1, entry)
  }
  t.match(server('{ "command": "x", "command": "y" }')?.transport, { command: 'y' })
})

t.test('an empty command next to an address is unused, and the reverse', t => {
  t.match(server('{ "command": "", "url": "http://h/" }')?.transport, { kind: 'auto', url: 'http://h/' })
  t.match(server('{ "command": "", "serverUrl": "http://h/" }')?.transport, { url: 'http://h/' })
  t.match(server('{ "command": "x", "url": "" }')?.transport, { kind: 'stdio', command: 'x' })
  t.end()
})

t.test('a server that is switched off is not looked at any further', async t => {
  for (const entry of [
    '{ "disabled": true, "args": ["${NOPE}"] }',
    '{ "enabled": false, "url": 5 }',
    '{ "isActive": false, "command": "" }',
    '{ "active": false, "command": "x" }',
    ...['isEnabled', 'enable', 'is_active'].map(key => `{ "${key}": false, "command": "x" }`),
    ...['disable', 'isDisabled'].map(key => `{ "${key}": true, "command": "x" }`),
  ]) {
    const loaded = one(entry)
    t.strictSame([told(loaded), loaded.disabled], [[], [{ name: 'a', why: 'disabled' }]], entry)
  }
})

t.test('a file of another program keeps off what that program does not start', async t => {
  const servers = '"mcpServers": { "a": { "command": "x" }, "b": { "command": "y" } }'
  const rows = {
    '"mcp": { "excluded": ["b"] }': ['a'],
    '"mcp": { "allowed": ["b"] }': ['b'],
    '"excludeMCPServers": ["b"]': ['a'],
    '"allowMCPServers": ["a"]': ['a'],
    '"disabledMcpServers": ["a"]': ['b'],
    '"mcp": {}': ['a', 'b'],
  }
  for (const [settings, names] of Object.entries(rows)) {
    const loaded = read(`{ ${servers}, ${settings} }`)
    t.strictSame([told(loaded), loaded.config?.servers.map(({ name }) => name)], [[], names], settings)
  }
})

t.test('of two servers with one prefix the second is left out', async t => {
  const x = (more: string) => `{ "command": "x"${more} }`
  const loaded = read(`{ "mcpServers": {
    "a": ${x(', "prefix": "p"')},
    "off": ${x(', "prefix": "p", "disabled": true')},
    "b": ${x(', "prefix": "p"')},
    "p": ${x('')},
    "c": ${x(', "prefix": false')},
    "d": ${x(', "prefix": false')},
    "e": ${x(', "prefix": "d"')}
  } }`)
  t.strictSame(told(loaded), [
    `${FILE}:4:28: error: mcpServers.b.prefix: mcpServers.a has the same prefix. Give one of the two servers another "prefix".`,
    `${FILE}:5:5: error: mcpServers.p: mcpServers.a has the same prefix. Give one of the two servers another "prefix".`,
    `${FILE}:8:28: error: mcpServers.e.prefix: mcpServers.d has the same prefix. Give one of the two servers another "prefix".`,
  ])
  t.strictSame(
    loaded.config?.servers.map(s => s.name),
    ['a', 'c', 'd'],
  )
  t.strictSame(loaded.disabled, [
    { name: 'off', why: 'disabled' },
    { name: 'b', why: 'invalid' },
    { name: 'p', why: 'invalid' },
    { name: 'e', why: 'invalid' },
  ])
})

t.test('names that mean something to JavaScript mean nothing here', async t => {
  const loaded = read(`{ "mcpServers": { "__proto__": {
    "command": "x", "env": { "__proto__": "e", "constructor": "c" }, "tools": { "rename": { "constructor": "k" } }
  }, "constructor": { "command": "y", "args": ["\${toString:-none}"] } } }`)
  t.strictSame(told(loaded), [])
  const [proto, other] = loaded.config?.servers ?? []
  t.equal(proto?.name, '__proto__')
  t.strictSame(proto?.transport.kind === 'stdio' && Object.entries(proto.transport.env), [
    ['__proto__', 'e'],
    ['constructor', 'c'],
  ])
  t.equal(proto?.tools.rename['toString'], undefined)
  t.match(other?.transport, { args: ['none'] })
  t.equal(({} as Record<string, unknown>)['command'], undefined)
  t.match(read('{ "mcpServers": { "": { "command": "x" } } }'), {
    problems: [{ message: 'the name of this server is empty' }],
    disabled: [{ name: '', why: 'invalid' }],
  })
})

t.test('the lists of other programs are read with a note', async t => {
  const note = `${FILE}:1:3: warning: `
  const lists: Record<string, string[]> = {
    '{ "servers": { "a": { "command": "x" } }, "inputs": [] }': [
      `${note}servers: read as "mcpServers", the name of this key in mcp-proxy. Rename it to "mcpServers".`,
    ],
    '{ "context_servers": { "a": { "command": "x" } } }': [
      `${note}context_servers: read as "mcpServers", the name of this key in mcp-proxy. Rename it to "mcpServers".`,
    ],
    '{ "a": { "command": "x" }, "pageSize": 5 }': [
      `${FILE}:1:1: warning: read as a list of servers, because "mcpServers" is missing. Put the servers into an object: "mcpServers": { … }.`,
    ],
    '{ "mcpServers": { "a": { "command": "x" } }, "servers": { "b": { "command": "y" } } }': [
      `${FILE}:1:46: warning: servers: ignored, because this file has another list of servers. Move its servers to "mcpServers".`,
    ],
  }
  for (const [text, expected] of Object.entries(lists)) {
    t.strictSame(told(read(text)), expected, text)
    t.strictSame(
      read(text).config?.servers.map(s => s.name),
      ['a'],
      text,
    )
  }
  t.equal(read('{ "a": { "url": "http://h/" }, "pageSize": 5 }').config?.pageSize, 5)
})

t.test('an invalid top-level setting falls back to its default', async t => {
  const loaded = read(`{ "mcpServers": {},
"listen": { "host": "h", "port": "80", "allowedOrigins": ["a", 5], "hots": 1 },
"pagesize": 7, "pageSize": 0, "startupWait": "soon", "log": "debug", "$shema": "" }`)
  t.strictSame(
    loaded.problems.map(p => [p.line, p.column, p.severity, p.key, p.message]),
    [
      [1, 17, 'warning', 'mcpServers', 'no servers are configured here'],
      [2, 34, 'error', 'listen.port', 'expected a number, found a string'],
      [2, 64, 'error', 'listen.allowedOrigins.1', 'expected a string, found a number'],
      [2, 68, 'warning', 'listen.hots', 'unknown key, ignored'],
      [3, 1, 'warning', 'pagesize', 'unknown key, ignored'],
      [3, 28, 'error', 'pageSize', 'this value is too small'],
      [3, 46, 'error', 'startupWait', 'this string does not have the right form'],
      [3, 61, 'error', 'log', 'expected an object, found a string'],
      [3, 70, 'warning', '$shema', 'unknown key, ignored'],
    ],
  )
  t.match(
    loaded.problems.map(p => p.fix),
    [
      /^Write "mcpServers": \{/,
      'Write a whole number from 0 to 65535; 0 takes any free port. Until then the default holds.',
      /./,
      'Did you mean "host"?',
      'Did you mean "pageSize"?',
      'Write a whole number from 1 to 10000. Until then the default holds.',
      /./,
      'Write an object, such as { "level": "info" }. Until then the default holds.',
      'Did you mean "$schema"?',
    ],
  )
  t.same(loaded.config, {
    servers: [],
    waiting: [],
    listen: { ...LISTEN, host: 'h' },
    ...DEFAULTS,
  })
})

t.test('an invalid limit, or one out of range, gets an error with valid values', async t => {
  const limits = (value: string) =>
    told(read(`{ "mcpServers": { "a": { "command": "x" } }, "limits": ${value} }`)).map(line =>
      line.replace(/^[^ ]+ /, ''),
    )
  const range = (what: string, least: string, most: string): string =>
    `Write ${what}, from ${least} to ${most}.`
  const count = range('a whole number, such as 100', '1', '1000000')
  const size = range('a number of bytes, or a text with a unit, such as "16MiB"', '4KiB', '512MiB')
  const later = 'Until then the default holds.'
  const cases: readonly (readonly [value: string, problem: string])[] = [
    ['{ "sessions": 0 }', `error: limits.sessions: this value is too small. ${count} ${later}`],
    ['{ "sessions": -1 }', `error: limits.sessions: this value is too small. ${count} ${later}`],
    [
      '{ "sessions": 1.5 }',
      `error: limits.sessions: expected a whole number, found a number. ${count} ${later}`,
    ],
    [
      '{ "sessions": "many" }',
      `error: limits.sessions: expected a number, found a string. ${count} ${later}`,
    ],
    ['{ "sessions": 1e9 }', 'error: limits.sessions: this limit is too large. Write one from 1 to 1000000.'],
    [
      '{ "body": "16 miles" }',
      `error: limits.body: this string does not have the right form. ${size} ${later}`,
    ],
    ['{ "body": "1B" }', 'error: limits.body: this limit is too small. Write one from 4KiB to 512MiB.'],
    ['{ "body": "9GB" }', 'error: limits.body: this limit is too large. Write one from 4KiB to 512MiB.'],
    [
      '{ "stall": "1ms" }',
      'error: limits.stall: this limit is too small. Write one from 1s to 2147483647ms.',
    ],
    [
      '{ "callsPerClients": 5 }',
      'warning: limits.callsPerClients: unknown key, ignored. Did you mean "callsPerClient"?',
    ],
  ]
  for (const [value, problem] of cases) t.strictSame(limits(value), [problem], value)
})

t.test('a server can have limits of its own, where that makes sense', async t => {
  t.strictSame(server('{ "command": "x", "limits": { "items": 3 } }')?.limits, { items: 3 })
  t.match(told(one('{ "command": "x", "limits": { "sessions": 3 } }')), [
    /limits.sessions: unknown key, ignored/,
  ])
  t.match(told(one('{ "command": "x", "limits": { "items": 0 } }')), [
    /limits.items: this value is too small/,
  ])
})

t.test('where clients find the proxy is an object, or the address of a socket alone', async t => {
  const listen = (value: string) => read(`{ "mcpServers": { "a": { "command": "x" } }, "listen": ${value} }`)
  const alone = { ...LISTEN, http: false }
  const good: readonly (readonly [value: string, expected: object])[] = [
    ['{}', LISTEN],
    ['"unix:/run/mcp.sock"', { ...alone, socket: '/run/mcp.sock' }],
    ['"unix://${HOME}/mcp.sock"', { ...alone, socket: '/home/ann/mcp.sock' }],
    ['"pipe:///mcp"', { ...alone, socket: '\\\\.\\pipe\\mcp' }],
    ['"/run/mcp.sock"', { ...alone, socket: '/run/mcp.sock' }],
    ['{ "socket": "/run/mcp.sock" }', { ...LISTEN, socket: '/run/mcp.sock' }],
    ['{ "http": false, "socket": "unix:/x" }', { ...alone, socket: '/x' }],
    ['{ "ws": false, "sse": false }', { ...LISTEN, ws: false, sse: false }],
  ]
  for (const [value, expected] of good) {
    t.strictSame(told(listen(value)), [], value)
    t.strictSame(listen(value).config?.listen, expected, value)
  }
  const notSocket =
    'this is not the address of a socket. Write "unix:///" and its absolute path, or "pipe:///" and the name of a pipe; until then the proxy listens on no socket.'
  const bad: readonly (readonly [value: string, problem: string, expected: object])[] = [
    ['"127.0.0.1:8808"', `error: listen: ${notSocket}`, alone],
    ['"unix:${NOPE}/x"', 'error: listen: the variable NOPE is not set.', alone],
    ['""', 'error: listen: this is empty after its variables are expanded', alone],
    ['{ "socket": "mcp.sock" }', `error: listen.socket: ${notSocket}`, LISTEN],
    ['{ "http": false, "socket": "mcp.sock" }', `error: listen.socket: ${notSocket}`, alone],
    ['{ "socket": 5 }', 'error: listen.socket: expected a string, found a number.', LISTEN],
    ['{ "socket": "" }', 'error: listen.socket: this is empty.', LISTEN],
    ['{ "sse": "no" }', 'error: listen.sse: expected true or false, found a string.', LISTEN],
    ['{ "http": false }', 'warning: listen.http: this leaves nothing to listen on. Name a "socket"', alone],
    ['8808', 'error: listen: expected an object, found a number. Write an object, such as', LISTEN],
  ]
  for (const [value, problem, expected] of bad) {
    t.equal(told(listen(value)).length, 1, value)
    t.match(told(listen(value))[0], problem, value)
    t.strictSame(listen(value).config?.listen, expected, value)
  }
})

t.test('a file full of strange keys is told about briefly', async t => {
  const keys = Array.from({ length: 40 }, (_, i) => `"zebra-${i}": 1`).join(', ')
  const loaded = read(`{ "mcpServers": { "a": { "command": "x" } }, ${keys} }`)
  t.equal(loaded.problems.length, 11)
  t.match(loaded.problems[10], { key: 'zebra-10', message: 'this and 29 more keys are unknown and ignored' })
})

t.test('a file that is not JSON or has no servers is unusable, with the place and the cause', async t => {
  const example = 'Write "mcpServers": { "some-name": { "command": "npx", "args": ["-y", "some-server"] } }.'
  const quotes = 'Put names and texts in double quotes; only numbers, true, false and null need none.'
  const bad: Record<string, string> = {
    '': '1:1: error: expected "{", found an empty file. Write { "mcpServers": {} } and name your servers in it.',
    '{\n  "a": 1\n  "b": 2\n}':
      '3:3: error: expected "," or the end of the object or list. Write "," before this.',
    '{\r\n  "a" 1 }': '2:7: error: expected ":" after the name of a key. Write ":" between name and value.',
    '{ "a": }': '1:8: error: expected a value. Write a value here, or remove what announces it.',
    "{ 'a': 1 }": `1:3: error: expected JSON, found an invalid word or character. ${quotes}`,
    '{ "a": {': '1:9: error: expected "}", found the end of the file. Close every "{" with "}".',
    '{ "a": [1': '1:10: error: expected "]", found the end of the file. Close every "[" with "]".',
    '{ "a": "x\n" }':
      '1:8: error: expected the closing quote of a string. Close the string with " on the same line.',
    '{} {}': '1:4: error: expected the end of the file, found more. Remove the text after the last "}".',
    '{ "a": "C:\\Users" }':
      '1:8: error: expected one of "\\/bfnrtu after a backslash. Write "\\\\" for a backslash, as in "C:\\\\Users".',
    '{} /*': '1:4: error: expected "*/", found the end of the file. Close the comment with "*/".',
    '{ /* ': '1:3: error: expected "*/", found the end of the file. Close the comment with "*/".',
    '[]': `1:1: error: expected an object, found a list. ${example}`,
    '{}': `1:1: error: the key "mcpServers" is missing. ${example}`,
    '{ "mcpServers": [] }': `1:17: error: mcpServers: expected an object, found a list. ${example}`,
    '{ "command": "x" }':
      '1:1: error: this is one server without a name. Put it into an object: "mcpServers": { "some-name": { … } }.',
  }
  for (const [text, expected] of Object.entries(bad)) {
    const loaded = read(text)
    t.equal(loaded.config, undefined, text)
    t.strictSame(told(loaded), [`${FILE}:${expected}`], text)
  }
  t.strictSame(told(read('['.repeat(100_000))), [
    `${FILE}:1:100000: error: nested more than 64 levels deep. Check that this is the right file.`,
  ])
})

t.test('a byte order mark is accepted and shifts no positions', async t => {
  t.strictSame(
    read('\uFEFF{ "mcpServers": { "a": { "command": "x", "zebra": 1 } } }').problems[0]?.column,
    42,
  )
})

t.test('a file may be named from where one stands', async t => {
  const loaded = parseConfig('{ "mcpServers": { "a": { "command": "x" } } }', 'sub/mcp.json', {})
  t.match(loaded.config?.servers[0]?.transport, { cwd: resolve('sub') })
})

t.test('no problem ever holds the value of a variable', async t => {
  const secret = 'hunter2hunter2'
  const places = ['command', 'args', 'env', 'cwd', 'url', 'serverUrl', 'headers', 'type', 'prefix', 'zebra']
  for (const [name, value] of Object.entries({
    plain: secret,
    broken: `${secret}\r\n\0${secret}`,
    ü: `${secret}→`,
  })) {
    for (const place of places) {
      for (const shape of ['"${S}"', '["${S}"]', '{ "A": "${S}" }', '{ "A": "${S} ${NOPE}" }']) {
        for (const rest of ['', ', "command": "x"', ', "url": "http://h/"']) {
          const loaded = parseConfig(`{ "mcpServers": { "a": { "${place}": ${shape}${rest} } } }`, FILE, {
            S: value,
          })
          if (told(loaded).join().includes(secret)) t.fail(`${name}: ${place} ${shape} ${rest}`)
        }
      }
    }
  }
  t.ok(parseConfig('{"mcpServers":{"a":{"url":"${S}"}}}', FILE, { S: secret }).problems.length > 0)
})

t.test('no text throws, and an unusable file always has an error', async _t => {
  const key = fc.constantFrom(
    'mcpServers',
    'servers',
    'a',
    'command',
    'url',
    'env',
    'tools',
    'timeouts',
    'listen',
    '__proto__',
    '',
  )
  const { tree } = fc.letrec<{ tree: unknown }>(tie => ({
    tree: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom('x', '${A}', 'http://h/', 5, true, null, 'off', '30s'),
      fc.array(tie('tree'), { maxLength: 3 }),
      fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }).map(entries => Object.fromEntries(entries)),
    ),
  }))
  const text = fc.oneof(
    fc.string(),
    tree.map(value => JSON.stringify(value)),
    tree.map(value => `{"mcpServers":{"a":${JSON.stringify(value)}}}`),
  )
  fc.assert(
    fc.property(text, source => {
      const { config, problems, disabled } = read(source)
      if (config === undefined) return problems.some(p => p.severity === 'error')
      const invalid = disabled.some(d => d.why === 'invalid')
      return !invalid || problems.some(p => p.severity === 'error' && p.line > 0 && p.column > 0)
    }),
    runs(500),
  )
})

t.test('where audit lines go is a table', async t => {
  const audit = (text: string) => read(`{ "mcpServers": {}, "audit": ${text} }`).config?.audit
  t.equal(audit('"off"'), undefined)
  t.same(audit('"stderr"'), { to: 'stderr', withArguments: false })
  t.same(audit('"/var/log/a"'), { to: { file: resolve('/var/log/a') }, withArguments: false })
  t.same(audit('"~/a"'), { to: { file: resolve('/home/ann/a') }, withArguments: false })
  t.equal(audit('true'), undefined)
  t.same(audit('{ "to": "/var/log/a", "arguments": true, "strict": true }'), {
    ...{ to: { file: resolve('/var/log/a') }, withArguments: true, isStrict: true },
  })
  const endpoint = 'https://otel.test:4318'
  t.same(audit(`{ "otlp": { "endpoint": "${endpoint}", "headers": { "X-Key": "k" } } }`), {
    ...{ to: undefined, withArguments: false },
    otlp: { endpoint, headers: { 'x-key': 'k' }, protocol: 'http/protobuf' },
  })
  t.equal(audit('{ "otlp": { "endpoint": "nowhere" } }'), undefined)
  t.equal(audit('{ "to": "" }'), undefined)
  t.equal(audit('{ "strict": true }'), undefined)
  t.equal(audit('"${NOPE}"'), undefined)
})

t.test('variables come from the environment, then from the file of variables, and from files', t => {
  const folder = t.testdir({
    'secrets.env': `# ours\nexport A='it'\\''s' # note\nB="two\\nlines"\nC= bare # note\nD='a\nb'\nHOME_OF=/x\n`,
    'other.env': 'A=other\n',
    'token.txt': 'from-file\r\n',
    big: 'x'.repeat(65 * 1024),
  })
  const load = (env: object, more: object = {}) =>
    parseConfig(JSON.stringify({ mcpServers: { s: { command: 'x', env } }, ...more }), `${folder}/mcp.json`, {
      HOME_OF: '/env',
      HOME: '/home/me',
    })
  const envOf = (env: object, more?: object) => {
    const { config, problems } = load(env, more)
    t.same(problems, [])
    const [server] = config?.servers ?? []
    return { ...(server?.transport.kind === 'stdio' ? server.transport.env : {}) }
  }
  t.same(envOf({ A: '${A}', B: '${B}', C: '${C}', D: '${D}', E: '${HOME_OF}', H: '${userHome}' }), {
    A: "it's",
    B: 'two\nlines',
    C: 'bare',
    D: 'a\nb',
    E: '/env',
    H: '/home/me',
  })
  t.same(envOf({ A: '${A}' }, { envFile: 'other.env' }), { A: 'other' })
  t.same(envOf({ A: 'x-${file:token.txt}' }), { A: 'x-from-file' })
  t.ok(
    secretsOf(load({ A: '${file:token.txt}' }).config as ProxyConfig).includes('from-file'),
    'it is masked',
  )
  t.match(load({ A: '${file:gone}' }).problems, [{ severity: 'error', message: /gone is not there/ }])
  t.match(load({ A: '${file:big}' }).problems, [{ severity: 'error', message: /big is longer than 64 KiB/ }])
  t.match(load({}, { envFile: 'gone.env' }).problems, [
    { severity: 'warning', message: /gone\.env is not there/ },
  ])
  t.end()
})

t.test('timeouts of all servers apply where a server sets none, and its patterns of tools come first', t => {
  const loaded = read(`{
    "timeouts": { "connect": "5s", "call": "2m", "total": "1h", "tools": { "export_*": "30m" }, "ping": "10s" },
    "mcpServers": {
      "a": { "command": "x" },
      "b": { "command": "x", "timeouts": { "call": "3m", "tools": { "*": "4m" }, "ping": "off" } }
    }
  }`)
  t.strictSame(told(loaded), [])
  t.match(
    loaded.config?.servers.map(({ timeouts }) => timeouts),
    [
      {
        connectMs: 5000,
        initializeMs: 5000,
        callMs: 120_000,
        tools: [['export_*', 1_800_000]],
        pingMs: 10_000,
      },
      {
        callMs: 180_000,
        totalMs: 3_600_000,
        tools: [
          ['*', 240_000],
          ['export_*', 1_800_000],
        ],
        pingMs: Number.POSITIVE_INFINITY,
      },
    ],
  )
  const wrong = read(
    '{ "timeouts": { "total": "10m", "tools": { "a": "11m" }, "pings": 5 }, "mcpServers": { "a": { "command": "x" } } }',
  )
  t.match(told(wrong), [
    /timeouts\.tools\.a: longer than timeouts\.total/,
    /timeouts\.pings: unknown key.*"ping"/,
  ])
  t.end()
})

t.test('an empty name of a person or a client is reported with a fix', t => {
  for (const auth of [{ people: { '': { tokens: [] } } }, { embedded: { clients: { '': {} } } }]) {
    const { problems } = parseConfig(JSON.stringify({ auth, mcpServers: {} }), 'mcp.json', {})
    const text = problems.map(formatProblem).join('\n')
    t.match(text, 'Write a name of at least one character.')
    t.notMatch(text, 'undefined')
  }
  t.end()
})

t.test('an invalid section is left out, and all other sections keep their values', t => {
  const others = { listen: { port: 9999 }, timeouts: { call: '7s' }, pageSize: 50 }
  const rows: readonly (readonly [wrong: object, key: string])[] = [
    [{ tracing: { endpoint: 7 } }, 'tracing.endpoint'],
    [{ tracing: {} }, 'tracing'],
    [{ tracing: { endpoint: 'http://127.0.0.1:4318', headers: { a: 7 }, ratio: 'x' } }, 'tracing.headers.a'],
    [{ tracing: { endpoint: {}, baggage: [7, ''] } }, 'tracing.endpoint'],
    [{ tracing: [] }, 'tracing'],
    [{ metrics: { listen: 7 } }, 'metrics.listen'],
    [{ metrics: 7 }, 'metrics'],
    [{ requestState: { keys: 7 } }, 'requestState.keys'],
    [{ limits: 'many' }, 'limits'],
    [{ expose: { tokens: 'x' } }, 'expose.tokens'],
    [{ log: { level: 7 } }, 'log.level'],
    [{ daemon: [] }, 'daemon'],
    [{ results: { max: 'x' } }, 'results.max'],
  ]
  for (const [wrong, key] of rows) {
    const text = JSON.stringify({ mcpServers: { a: { command: 'x' } }, ...others, ...wrong })
    const { config, problems } = parseConfig(text, '/etc/mcp.json', {})
    t.match(config, { listen: { port: 9999 }, pageSize: 50 }, key)
    t.match(config?.servers[0]?.timeouts, { callMs: 7000 }, key)
    t.ok(
      problems.some(problem => problem.severity === 'error' && problem.key === key),
      key,
    )
  }
  t.end()
})

t.test('a host, address, origin or pattern that matches nothing is reported with its place', t => {
  const rows: readonly (readonly [settings: object, key: string])[] = [
    ...['a b', ' a', 'a\t', ' ', '', 'https://a', 'a/b'].map(
      host => [{ listen: { allowedHosts: ['ok.example', host] } }, 'listen.allowedHosts.1'] as const,
    ),
    ...['5', '${HOST', '\ud800', 'a b', 'a_\u202eb', '-a', ''].map(
      host => [{ listen: { host } }, 'listen.host'] as const,
    ),
    ...[' https://a', 'https://a b', ''].map(
      origin => [{ listen: { allowedOrigins: [origin] } }, 'listen.allowedOrigins.0'] as const,
    ),
    ...[' 10.0.0.1', '10.0.0.0/8 ', '', '10.0.0.0/99', 'proxy'].map(
      proxy => [{ listen: { trustedProxies: ['::1', proxy] } }, 'listen.trustedProxies.1'] as const,
    ),
    [{ tracing: { endpoint: 'http://127.0.0.1:4318', baggage: ['a b'] } }, 'tracing.baggage.0'],
    [{ views: { v: { servers: ['a', ' b'] } } }, 'views.v.servers.1'],
    [{ views: { v: { servers: ['a'], scopes: ['x y'] } } }, 'views.v.scopes.0'],
    [{ views: { v: { tags: ['x '] } } }, 'views.v.tags.0'],
    [{ mcpServers: { a: { command: 'x', tools: { deny: [' x'] } } } }, 'mcpServers.a.tools.deny.0'],
    [{ mcpServers: { a: { command: 'x', tags: [' '] } } }, 'mcpServers.a.tags.0'],
  ]
  for (const [settings, key] of rows) {
    const text = JSON.stringify({ mcpServers: { a: { command: 'x' } }, ...settings })
    const { problems } = parseConfig(text, '/etc/mcp.json', {})
    t.match(problems, [{ severity: 'error', key, fix: /^Write /, line: 1 }], `${key}: ${text}`)
  }
  for (const host of ['::', '0.0.0.0', 'fe80::1%eth0', 'localhost', 'my_host.lan', '[::1]']) {
    const text = JSON.stringify({ mcpServers: { a: { command: 'x' } }, listen: { host } })
    t.same(parseConfig(text, '/etc/mcp.json', {}).problems, [], host)
  }
  const listen = {
    allowedHosts: ['a.example:8080', '[::1]', '::1', 'A_b'],
    allowedOrigins: ['https://a.example:1/', 'vscode-webview://x'],
    trustedProxies: ['10.0.0.0/8', '::1'],
  }
  const { problems } = parseConfig(
    JSON.stringify({ mcpServers: { a: { command: 'x' } }, listen }),
    '/etc/mcp.json',
    {},
  )
  t.same(problems, [])
  t.end()
})

t.test('thousands of wrong values are reported in little time', t => {
  const names = Array.from({ length: 4000 }, (_, n) => `n${n}`)
  const every = (value: unknown) => Object.fromEntries(names.map(name => [name, value]))
  const mcpServers = { a: { command: 'x' } }
  for (const wrong of [
    { mcpServers: every({ command: 7 }) },
    { mcpServers, timeouts: { tools: every({}) } },
    { mcpServers, listen: { allowedHosts: names.map(() => 7) } },
    { mcpServers, views: every({ servers: 7 }) },
    { mcpServers, clients: every({ view: 7 }) },
    { mcpServers, limits: every(7) },
    { mcpServers, tracing: { endpoint: 'http://x', headers: every(7) } },
  ]) {
    const began = process.cpuUsage()
    const { problems } = parseConfig(JSON.stringify(wrong, null, 1), '/etc/mcp.json', {})
    const { user } = process.cpuUsage(began)
    t.ok(problems.length > 0)
    t.ok(user < 1e6, `${Object.keys(wrong).at(-1)}: ${user} µs`)
  }
  t.end()
})
