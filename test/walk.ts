import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'esbuild'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { RawClient } from './support/client/raw-client.js'
import { rawServer } from './support/proxy/start.js'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const src = join(root, 'src')

/** V8 has compiled everything by then, and nothing is done for the first time. */
const WARM_CALLS = 600
/** The number of calls that are measured. */
const WALKS = 9
/** The most that a bare call enters, from the HTTP request to the pipe of its server and back. Lower it. */
const MOST = { files: 68, functions: 220 }

interface Step {
  readonly file: string
  readonly names: readonly string[]
}

/** Returns a source whose functions report that they were entered. */
const reporting = (file: string, code: string): string => {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest)
  const report = `globalThis.entered?.(${JSON.stringify(file)})`
  const inserts: (readonly [at: number, text: string])[] = []
  const visit = (node: ts.Node): void => {
    const body = ts.isFunctionLike(node) && 'body' in node ? (node.body as ts.Node | undefined) : undefined
    if (body !== undefined && ts.isBlock(body)) inserts.push([body.getStart(source) + 1, `${report};`])
    else if (body !== undefined) inserts.push([body.getStart(source), `(${report}, `], [body.end, ')'])
    ts.forEachChild(node, visit)
  }
  visit(source)
  const pieces = inserts
    .sort(([one], [other]) => one - other)
    .map(([at, text], index) => code.slice(inserts[index - 1]?.[0] ?? 0, at) + text)
  return pieces.join('') + code.slice(inserts.at(-1)?.[0] ?? 0)
}

/** Makes a module of each source, so that V8 reports functions by file. Returns the folder. */
const unbundled = (name: string, isReporting: (file: string) => boolean): string => {
  const folder = join(root, '.tap', name)
  rmSync(folder, { recursive: true, force: true })
  const sources = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    file => /\.(?:ts|js|txt)$/.test(file) && !file.endsWith('.d.ts'),
  )
  for (const file of sources) {
    const path = join(src, file)
    const isText = file.endsWith('.txt')
    const out = join(folder, 'src', isText ? `${file}.js` : file.replace(/\.ts$/, '.js'))
    const given = readFileSync(path, 'utf8')
    const code = (isReporting(file) ? reporting(file, given) : given)
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
      .replaceAll(".txt'", ".txt.js'")
    const options = { loader: isText ? 'text' : 'ts', format: 'esm', target: 'node20' } as const
    mkdirSync(dirname(out), { recursive: true })
    writeFileSync(out, transformSync(code, options).code)
  }
  return folder
}

/** Starts a proxy of a folder's modules with a client that has made many calls. */
const start = async (t: Test, folder: string): Promise<RawClient> => {
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
  return client
}

/** Returns the functions that a call enters, by file. */
const walkOf = async (t: Test): Promise<readonly Step[]> => {
  const folder = unbundled('walk', () => false)
  const client = await start(t, folder)
  const session = new Session()
  session.connect()
  t.teardown(() => session.disconnect())
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  const base = pathToFileURL(join(folder, 'src/')).href
  const walk = async (): Promise<readonly Step[]> => {
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
    if (functionsOf(next) < functionsOf(walked)) walked = next
  }
  return walked
}

const functionsOf = (walked: readonly Step[]): number =>
  walked.reduce((sum, { names }) => sum + names.length, 0)

/** Returns files in the order in which a call enters them. */
const inOrder = async (t: Test, files: readonly string[]): Promise<readonly string[]> => {
  const known = new Set(files)
  const client = await start(
    t,
    unbundled('walk-in-order', file => known.has(file)),
  )
  const entered = new Set<string>()
  Object.assign(globalThis, { entered: (file: string) => entered.add(file) })
  t.teardown(() => Reflect.deleteProperty(globalThis, 'entered'))
  await client.call('walk', 'a__echo')
  return [...entered]
}

t.test('a bare call walks through few files and functions', async t => {
  const walked = await walkOf(t)
  const order = await inOrder(
    t,
    walked.map(({ file }) => file),
  )
  const byFile = new Map(walked.map(({ file, names }) => [file, names]))
  for (const file of new Set([...order, ...byFile.keys()]))
    t.comment(
      `${file}: ${byFile
        .get(file)
        ?.filter(name => name !== '')
        .join(', ')}`,
    )
  const functions = functionsOf(walked)
  t.comment(`${walked.length} files, ${functions} functions`)
  t.ok(walked.length <= MOST.files, `${walked.length} files`)
  t.ok(functions <= MOST.functions, `${functions} functions`)
})
