// Writes the bundle for clients that install MCP servers from a file (.mcpb, manifest 0.3):
// `node bin/write-bundle.mjs FILE`. It has the packed files of the last build and their dependencies. The
// client starts `connect`, which shares one daemon with all other clients.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { zipSync } from 'fflate'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = name => JSON.parse(readFileSync(join(root, name), 'utf8'))
const { name, version, description, license, homepage, repository, bugs, keywords, engines } =
  read('package.json')

const SHIM = 'server/bin/connect.cjs'

const MANIFEST = {
  manifest_version: '0.3',
  ...{ name, display_name: 'mcp-proxy', version, description, license, keywords, homepage },
  author: { name: `${name} contributors` },
  repository: { ...repository, url: repository.url.replace(/^git\+/, '') },
  support: bugs.url,
  server: {
    type: 'node',
    entry_point: SHIM,
    mcp_config: { command: 'node', args: [`\${__dirname}/${SHIM}`] },
  },
  tools_generated: true,
  prompts_generated: true,
  compatibility: { platforms: ['darwin', 'linux', 'win32'], runtimes: { node: engines.node } },
}

/** Returns the names of the files that npm packs. */
const packedFiles = () => {
  const options = { cwd: root, encoding: 'utf8', shell: process.platform === 'win32' }
  const out = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options)
  return JSON.parse(out)[0].files.map(({ path }) => path)
}

/** Returns the files of the dependencies; without maps and types, which only developers need. */
const dependencyFiles = () =>
  Object.entries(read('package-lock.json').packages)
    .filter(([path, { dev, link }]) => path.startsWith('node_modules/') && !dev && !link)
    .flatMap(([path]) =>
      readdirSync(join(root, path), { recursive: true })
        .filter(file => !/(?:^|[/\\])node_modules[/\\]|\.(?:map|[cm]?ts|md)$/.test(file))
        .map(file => `${path}/${file.replaceAll('\\', '/')}`),
    )
    .filter(path => statSync(join(root, path)).isFile())

const files = Object.fromEntries(
  [...packedFiles(), ...dependencyFiles()].map(path => [`server/${path}`, readFileSync(join(root, path))]),
)
const manifest = Buffer.from(`${JSON.stringify(MANIFEST, undefined, 2)}\n`)
// A fixed time makes the file reproducible.
writeFileSync(
  process.argv[2] ?? `${name}-${version}.mcpb`,
  zipSync({ 'manifest.json': manifest, ...files }, { mtime: '2026-01-01' }),
)
