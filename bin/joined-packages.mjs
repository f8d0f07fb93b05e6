// Joins packages into the build, for bin/build.mjs, if every start or every remote server loads them. They
// consist of about seventy small files, which Node would find, read and compile one by one.
import { createRequire, isBuiltin } from 'node:module'

const JOINED = /^(?:pino|picomatch|cross-spawn|dotenv|yargs-parser|undici\/lib\/.+)$/
const PACKAGE = /[\\/]node_modules[\\/]/
/** undici's parser as base64 text, 72 kB for machines with SIMD and again for others: loaded from undici. */
const WASM = /\/llhttp\/(llhttp\w*-wasm)\.js$/
/**
 * HTTP/2, which our agents do not offer (it loads `node:http2`), bodies other than bytes, and pino's worker
 * threads.
 */
const UNUSED = /\/(?:client-h2|web\/fetch\/body|transport)(?:\.js)?$/

/** The esbuild plugin. */
export const joinedPackages = {
  name: 'joined-packages',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^[^/]/ }, ({ path, importer, kind }) => {
      if (!JOINED.test(path) && !PACKAGE.test(importer)) return undefined
      if (UNUSED.test(path)) return { path, namespace: 'unused' }
      const [, parser] = WASM.exec(path) ?? []
      if (parser !== undefined) return { path: `undici/lib/llhttp/${parser}.js`, external: true }
      if (!path.startsWith('node:') && !isBuiltin(path))
        return { path: createRequire(importer).resolve(path) }
      // ES modules lack `require`.
      return kind === 'require-call' ? { path, namespace: 'builtin' } : { path, external: true }
    })
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)})`,
    }))
    onLoad({ filter: /./, namespace: 'unused' }, () => ({ contents: '' }))
  },
}
