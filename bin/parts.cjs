'use strict'
// Loads the parts of the build that most starts need, with the code that V8 made of them in an earlier start:
// compiling a megabyte takes longer than running it. That code lies beside the part, whose name changes with
// what it holds, in a file for each version of V8 and set of its flags: who may write there, may change the
// part itself.
const { createHash } = require('node:crypto')
const fs = require('node:fs')
const { join } = require('node:path')
const { pathToFileURL } = require('node:url')
const { cachedDataVersionTag, setFlagsFromString } = require('node:v8')
const { Script } = require('node:vm')

const DIGEST_BYTES = 32
const folder = join(__dirname, '../dist')

// What a call leaves behind must be collected while it is young: an object that V8 allocates among the old
// ones keeps all later calls in memory until the next full collection.
setFlagsFromString('--no-allocation-site-pretenuring')
// V8 counts the bytes of messages as part of the heap, and would collect all of it after a few large ones.
setFlagsFromString('--heap-growing-percent=200')

/** V8 takes no code that was compiled with other flags. */
const tag = cachedDataVersionTag()
const codeFile = name => join(folder, `${name}.${tag}.code`)

const loaded = new Map()
/** The scripts of those parts that had to be compiled. */
const compiled = new Map()

/** Code that was damaged on the disk would crash V8, which does not check it. */
const digestOf = code => createHash('sha256').update(code).digest()

/** The code of a part, in memory that can be given back; undefined if there is none that can be read. */
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

/** What was kept has no way to import. */
const importFrom = path => import(path.startsWith('./') ? pathToFileURL(join(folder, path)) : path)

/** What a part exports. */
const load = name => {
  const known = loaded.get(name)
  if (known !== undefined) return known.exports
  const filename = join(folder, name)
  // What of a part runs is only counted in code that was compiled for that.
  const isCounted = Boolean(process.env.NODE_V8_COVERAGE)
  const cachedData = isCounted ? undefined : findCode(name)
  // One byte for each character, as esbuild writes nothing but ASCII.
  const script = new Script(fs.readFileSync(filename, 'latin1'), { filename, cachedData })
  // V8 has copied it; else it stays until the next collection of garbage, which may be far.
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
    // Nobody may ever find half of it.
    const own = `${file}.${process.pid}`
    await fs.promises.writeFile(own, Buffer.concat([digestOf(code), code]), { flush: true })
    await fs.promises.rename(own, file)
  }
}

let kept

/**
 * Keeps the code of parts that had to be compiled, as far as they ran, for the next start, if their folder is
 * writable. Called at the end of a service. Never rejects.
 */
const keepCode = () => {
  if (compiled.size > 0) kept ??= write().catch(() => undefined)
  return kept
}

module.exports = { load, keepCode }
