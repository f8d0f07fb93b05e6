'use strict'
// Loads the parts of the build that most starts need, with the V8 code cache of an earlier start: compiling a
// megabyte takes longer than running it. The cache is stored next to the part, whose name contains a content
// hash, in one file per V8 version and set of flags. Users with write access to it could change the part
// itself, too.
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { cachedDataVersionTag, setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')

const DIGEST_BYTES = 32
const folder = join(__dirname, '../dist')

// The same variable switches off every use of undocumented behaviour (src/transport/node-internals.ts).
if (process.env.MCP_PROXY_NODE_INTERNALS !== 'off') {
  // Objects of a call must be collected while they are young: one that V8 allocates in the old generation
  // keeps all later calls in memory until the next full collection.
  setFlagsFromString('--no-allocation-site-pretenuring')
  // V8 counts message bytes as heap, and would run a full collection after a few large messages. A heap of 17
  // MiB may grow by about 64 MiB; with 200, a result of 1 MiB takes twice the CPU.
  setFlagsFromString('--heap-growing-percent=400')
}

/** V8 rejects code that was compiled with other flags. */
const tag = cachedDataVersionTag()
const codeFile = name => join(folder, `${name}.${tag}.code`)

const loaded = new Map()
/** Scripts of parts without cached code. */
const compiled = new Map()

/** V8 does not verify cached code, and damaged code would crash it. */
const digestOf = code => createHash('sha256').update(code).digest()

/** Returns the cached code of a part in releasable memory; undefined if it is missing or unreadable. */
const findCode = name => {
  try {
    const file = fs.openSync(codeFile(name))
    const maxByteLength = fs.fstatSync(file).size
    const bytes = new Uint8Array(new ArrayBuffer(maxByteLength, { maxByteLength }))
    fs.readSync(file, bytes)
    fs.closeSync(file)
    const code = bytes.subarray(DIGEST_BYTES)
    return digestOf(code).equals(bytes.subarray(0, DIGEST_BYTES)) ? code : undefined
  } catch {
    return undefined
  }
}

const requireFrom = path => (path.startsWith('./') ? load(path.slice(2)) : require(path))

/** Cached code has no dynamic import of its own. */
const importFrom = path => import(path.startsWith('./') ? pathToFileURL(join(folder, path)) : path)

/** Returns the exports of a part. */
const load = name => {
  const known = loaded.get(name)
  if (known !== undefined) return known.exports
  const filename = join(folder, name)
  // Coverage counts only code that was compiled for it.
  const isCounted = Boolean(process.env.NODE_V8_COVERAGE)
  const cachedData = isCounted ? undefined : findCode(name)
  // One byte per character, because esbuild writes ASCII only.
  const script = new Script(fs.readFileSync(filename, 'latin1'), { filename, cachedData })
  // V8 has copied it; otherwise the memory stays until the next garbage collection, which may be far away.
  cachedData?.buffer.resize(0)
  if (script.cachedDataRejected !== false && !isCounted) compiled.set(name, script)
  const module = { exports: {} }
  script.runInThisContext()(module.exports, requireFrom, module, filename, importFrom)
  loaded.set(name, module)
  return module.exports
}

const write = async () => {
  const codes = [...compiled].map(([name, script]) => [codeFile(name), script.createCachedData()])
  for (const [file, code] of codes) {
    // Written to a temporary name first, so that other processes never read a partial file.
    const own = `${file}.${process.pid}`
    await fs.promises.writeFile(own, Buffer.concat([digestOf(code), code]), { flush: true })
    await fs.promises.rename(own, file)
  }
}

let kept

/**
 * Caches the compiled code of parts without a cache for the next start, as far as it ran, if their folder is
 * writable. Called at the end of a service. Never rejects.
 */
const keepCode = () => {
  if (compiled.size > 0) kept ??= write().catch(() => undefined)
  return kept
}

module.exports = { load, keepCode }
