import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import t from 'tap'
import { RawClient } from './support/client/raw-client.js'
import { rawServer } from './support/proxy/start.js'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const src = join(root, 'src')

/** V8 has compiled everything by then, and nothing is done for the first time. */
const WARM_CALLS = 300
/** The number of calls that are measured. */
const WALKS = 9
/** The most that a bare call enters, from the HTTP request to the pipe of its server and back. Lower it. */
const MOST = { files: 101, functions: 352 }

/** Makes a module of each source, so that V8 reports functions by file. Returns the folder. */
const unbundled = (): string => {
  const folder = join(root, '.tap/walk')
  rmSync(folder, { recursive: true, force: true })
  const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    file => /\.(?:ts|js|txt)$/.test(file) && !file.endsWith('.d.ts'),
  )
  for (const file of sources) {
    const path = join(src, file)
    const isText = file.endsWith('.txt')
    const out = join(folder, 'src', isText ? `${file}.js` : file.replace(/\.ts$/, '.js'))
    const code = readFileSync(path, 'utf8')
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      .replaceAll(".txt'", ".txt.js'")
    const options = { loader: isText ? 'text' : 'ts', format: 'esm', target: 'node20' } as const
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, transformSync(code, options).code)
  }
  return folder
}

t.test('a bare call walks through few files and functions', async t => {
  const folder = unbundled()
  const at = (path: string) => import(pathToFileURL(join(folder, 'src', path)).href)
  const { createProxy } = (await at('app/proxy.js')) as typeof import('../src/app/proxy.js')
  const { parseConfig } = (await at('config/parse.js')) as typeof import('../src/config/parse.js')
  const { config } = parseConfig(JSON.stringify({ mcpServers: { a: rawServer() } }), 'walk.json', {})
  if (config === undefined) throw new Error('bad configuration')
  const proxy = createProxy(config)
  t.teardown(() => proxy.close())
  const client = new RawClient((await proxy.listen({ port: 0 })).url)
  await client.initialize()
  await client.request('tools/list')
  for (let id = 0; id < WARM_CALLS; id += 1) await client.call(id, 'a__echo')
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const base = pathToFileURL(join(folder, 'src/')).href
  const walk = async () => {
    await session.post('Profiler.takePreciseCoverage')
    await client.call('walk', 'a__echo')
    const { result } = await session.post('Profiler.takePreciseCoverage')
    return result
      .filter(({ url }) => url.startsWith(base))
      .map(({ url, functions }) => ({
        file: url.slice(base.length).replace(/\.js$/, '.ts'),
        names: functions
          .filter(({ ranges: [all] }) => (all?.count ?? 0) > 0)
          .map(({ functionName }) => functionName),
      }))
      .filter(({ names }) => names.length > 0)
  }
  // A timer of the proxy may run during a call; the shortest walk has none.
  let walked = await walk()
  for (let n = 1; n < WALKS; n += 1) {
    const next = await walk()
    if (next.length < walked.length) walked = next
  }
  for (const { file, names } of walked) t.comment(`${file}: ${names.join(', ')}`)
  const functions = walked.reduce((sum, { names }) => sum + names.length, 0)
  t.comment(`${walked.length} files, ${functions} functions`)
  t.ok(walked.length <= MOST.files, `${walked.length} files`)
  t.ok(functions <= MOST.functions, `${functions} functions`)
})
