// Other MCP proxies over Streamable HTTP. `npm run bench -- --peers` installs the versions of package.json
// into bench/.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { freePort, freshFolder, listens, marked, start, writeTemporary } from './programs.js'

const here = name => fileURLToPath(new URL(name, import.meta.url))
const NODE = process.execPath
const SERVER = [NODE, here('servers/stdio.js')]

const says = pattern => line => (pattern.test(line) ? true : undefined)

const peer = ({ file, argsOf, isReady, path = '/mcp', envOf = () => ({}) }) => ({
  async http() {
    const port = await freePort()
    const command = [NODE, here(`node_modules/${file}`), ...argsOf(String(port))]
    const program = await start(command, isReady, { ...marked(), ...envOf() })
    await listens(port)
    return {
      transport: 'http',
      url: `http://127.0.0.1:${port}${path}`,
      pid: program.pid,
      ending: () => program.ending,
      end: () => program.endTree(),
    }
  },
})

/** Peers by package name. */
export const PEERS = {
  'mcp-proxy': peer({
    file: 'mcp-proxy/dist/bin/mcp-proxy.mjs',
    argsOf: port => ['--host', '127.0.0.1', '--port', port, '--', ...SERVER],
    isReady: says(/starting server/i),
  }),
  supergateway: peer({
    file: 'supergateway/dist/index.js',
    argsOf: port => [
      '--stdio',
      SERVER.join(' '),
      '--outputTransport',
      'streamableHttp',
      '--stateful',
      '--port',
      port,
    ],
    isReady: says(/listening/i),
  }),
  // Keeps its servers in a second process, found through files: each start gets its own.
  mcporter: peer({
    file: 'mcporter/dist/cli.js',
    path: '/mcp/bench',
    argsOf: port => ['--config', mcporterConfig(), 'serve', '--http', port],
    isReady: says(/serve HTTP bridge/),
    envOf: () => ({ HOME: freshFolder(), MCPORTER_DAEMON_DIR: freshFolder() }),
  }),
}

const mcporterConfig = () =>
  writeTemporary({
    imports: [],
    mcpServers: { bench: { command: SERVER[0], args: SERVER.slice(1), lifecycle: 'keep-alive' } },
  })

const manifestOf = folder => JSON.parse(readFileSync(here(`${folder}package.json`), 'utf8'))

const installed = name =>
  existsSync(here(`node_modules/${name}/package.json`)) ? manifestOf(`node_modules/${name}/`) : undefined

/** Installs the peers in the versions of bench/package.json and returns the names of the measurable ones. */
export function installPeers(say) {
  const { dependencies } = manifestOf('')
  const isThere = name => installed(name)?.version === dependencies[name]
  const names = Object.keys(PEERS)
  if (!names.every(isThere)) {
    say('installing the peers into bench/node_modules')
    spawnSync('npm', ['install', '--no-audit', '--no-fund', '--no-package-lock', '--ignore-scripts'], {
      cwd: here('.'),
      stdio: 'inherit',
    })
  }
  for (const name of names) if (!isThere(name)) say(`${name} could not be installed: going on without it`)
  return names.filter(isThere)
}

/** Describes the peers' versions and required Node versions. */
export const describePeers = names =>
  names.map(name => `${name} ${installed(name).version} (Node ${installed(name).engines?.node ?? 'any'})`)
