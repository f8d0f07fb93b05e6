// Joins lazily loaded modules by the code that needs them, for bin/build.mjs. Otherwise each dynamic import,
// and the code that any two of them share, would become a separate file.
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const src = fileURLToPath(new URL('../src', import.meta.url))
const IMPORT = /import\('(\.[^']+)'\)/g

/**
 * The parts and their modules; the first match counts. A module outside all parts stays separate, because it
 * loads a package that its neighbours do not need, or is loaded in another order.
 */
const PARTS = Object.entries({
  asking: /^(shim\/ask|control\/daemon\/daemon-lock|state\/processes\/orphans)\b/,
  small:
    /^(kernel|search\/expose-rules|shim|config\/(read|schema)|control\/(daemon|environment|local-client)|state\/(processes|state-key)|app\/(server-registry|shutdown|show-page))\b/,
  config: /^(config|app\/reload)\b/,
  setup: /^setup\/(?!edit\/(jsonc|toml|yaml)|add\/bundle|import\/plan)/,
  doctor: /^(doctor|cli\/doctor\/(?!probes))/,
  telling: /^cli\/status\/(why|status|logs)\./,
  serve: /^cli\/serve\/(serve|stdio|bridge)\./,
  verbs: /^cli\/(?!command-line|doctor)/,
  logins: /^auth\/(pages|store|client)\//,
  http: /^(app\/(listeners\/http|auth\/resource-server)|transport\/socket)\b/,
  watching: /^(telemetry\/metrics|control\/api)\//,
  fetch: /^transport\/http\/(?!guarded-fetch)/,
})

const partOf = module => PARTS.find(([, modules]) => modules.test(module))?.[0]

const nameOf = module => module.replace(/\W/g, '_')

/** Resolves an import to a path relative to `src`. */
const target = (module, path) => posix.join(posix.dirname(module), path)

const readModules = async () => {
  const names = (await readdir(src, { recursive: true })).map(name => name.replaceAll('\\', '/'))
  const modules = names.filter(name => name.endsWith('.ts') && !name.startsWith('ui/'))
  const texts = modules.map(async name => [join(src, name), name, await readFile(join(src, name), 'utf8')])
  return await Promise.all(texts)
}

/** The esbuild plugin. */
export const lateParts = {
  name: 'late-parts',
  async setup({ onLoad, onResolve }) {
    const modules = await readModules()
    const late = new Set(
      modules.flatMap(([, name, text]) => [...text.matchAll(IMPORT)].map(([, path]) => target(name, path))),
    )
    const changed = new Map(
      modules.flatMap(([file, name, text]) => {
        const joined = text.replace(IMPORT, (whole, path) => {
          const module = target(name, path)
          const part = partOf(module)
          return part === undefined ? whole : `import('part:${part}').then(part => part.${nameOf(module)})`
        })
        return joined === text ? [] : [[file, joined]]
      }),
    )
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const contents = changed.get(path)
      return contents && { contents, loader: 'ts' }
    })
    onResolve({ filter: /^part:/ }, ({ path }) => ({ path: path.slice(5), namespace: 'part' }))
    onLoad({ filter: /./, namespace: 'part' }, ({ path }) => ({
      contents: [...late]
        .filter(module => partOf(module) === path)
        .map(module => `export * as ${nameOf(module)} from './${module}'`)
        .join('\n'),
      resolveDir: src,
    }))
  },
}
