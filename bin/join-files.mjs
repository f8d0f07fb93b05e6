// Joins build files that are loaded together, for bin/build.mjs. esbuild writes a separate file for the code
// that any two parts share, and Node takes a millisecond to find, read, compile and link each. A joined file
// is CommonJS, loaded by bin/parts.cjs, because V8 can cache only such code. A module of the same name
// re-exports it.
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Returns a file and all files that are loaded with it. */
const closureOf = (outputs, file, found = new Set()) => {
  if (found.has(file)) return found
  found.add(file)
  for (const { path, kind } of outputs[file].imports)
    if (kind === 'import-statement' && path in outputs) closureOf(outputs, path, found)
  return found
}

/** Returns the files of each group that are in no earlier group. */
const membersOf = (outputs, groups) => {
  const taken = new Set()
  const entries = new Map(Object.entries(outputs).map(([file, { entryPoint }]) => [entryPoint, file]))
  const loadedBy = names => new Set(names.flatMap(name => [...closureOf(outputs, entries.get(name))]))
  return groups.map(group => {
    const [all, ...others] = group.map(loadedBy)
    const members = [...all].filter(file => !taken.has(file) && others.every(other => other.has(file)))
    for (const file of members) taken.add(file)
    return members
  })
}

/** Returns a name with a hash of the files' content. */
const nameOf = async files => {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(`${root}/${file}`))
  return `part-${hash.digest('hex').slice(0, 8).toUpperCase()}`
}

/** Returns the name of a file's export in the file that it was joined into. */
const joinedName = (file, name) => `${posix.basename(file, '.js').replace(/\W/g, '_')}_${name}`

const relative = (from, to) => `./${posix.relative(posix.dirname(from), to)}`.replace('./../', '../')

/** Returns a module that re-exports a file's exports from its part. */
const requiring = (outputs, member, part) => {
  const names = outputs[member].exports.map(name => `${joinedName(member, name)}:${name}`)
  return `export const{${names.join()}}=require("./${part}.cjs");`
}

/** Returns a module that re-exports a file's exports from the module of its part. */
const leadingTo = (outputs, member, module) => {
  const names = outputs[member].exports.map(name => `${joinedName(member, name)} as ${name}`)
  return `export{${names.join()}}from${JSON.stringify(module)};`
}

/**
 * Returns the replacement of a joined file: a module for dynamic imports, or the code that a program
 * requires.
 */
const faceOf = (outputs, file, part) => {
  if (posix.basename(file).startsWith('part-'))
    return [file, leadingTo(outputs, file, relative(file, `dist/${part}.js`))]
  const exported = outputs[file].exports.map(name => `exports.${name}=part.${joinedName(file, name)};`)
  const parts = JSON.stringify(relative(file, 'bin/parts.cjs'))
  return [
    file.replace(/\.js$/, '.cjs'),
    `const part=require(${parts}).load("${part}.cjs");${exported.join('')}`,
  ]
}

/**
 * Joins the files of a build by groups. A group consists of the files loaded with each of its lists of entry
 * points, except files of earlier groups. A joined file remains only if it is imported on its own, as a line
 * that re-exports the other. `common` holds options of esbuild. Resolves with the remaining files.
 */
export async function joinFiles(outputs, groups, common) {
  const joined = new Map()
  const parts = await Promise.all(
    membersOf(outputs, groups).map(async members => ({ members, name: await nameOf(members) })),
  )
  for (const { members, name } of parts) for (const member of members) joined.set(member, name)
  const write = async (outfile, options, linking) => {
    const settings = { ...common, ...options, outfile, allowOverwrite: true, write: false }
    return (await build({ ...settings, plugins: [linking] })).outputFiles
  }
  const others = Object.keys(outputs).filter(file => file.endsWith('.js') && !joined.has(file))
  const written = await Promise.all([
    ...parts.map(({ members, name }) => {
      const stdin = { contents: exportsOf(outputs, members), resolveDir: root }
      return write(`dist/${name}.cjs`, { ...PART, stdin }, linkingInPart(outputs, joined, name))
    }),
    ...others.map(file => write(file, { entryPoints: [file] }, linkingInModule(outputs, joined, file))),
  ])
  for (const file of joined.keys())
    for (const suffix of ['', '.map']) await rm(`${root}/${file}${suffix}`, { force: true })
  for (const { path, contents } of written.flat()) await writeFile(path, contents)
  for (const { members, name } of parts) {
    const names = members.flatMap(file => outputs[file].exports.map(each => joinedName(file, each)))
    const exported = `export const{${names.join()}}=parts.load("${name}.cjs");`
    await writeFile(`${root}/dist/${name}.js`, `import parts from"../bin/parts.cjs";${exported}`)
  }
  const alone = [...joined.keys()].filter(file => outputs[file].entryPoint !== undefined)
  const faces = alone.map(file => faceOf(outputs, file, joined.get(file)))
  for (const [file, text] of faces) await writeFile(`${root}/${file}`, text)
  return [
    ...others.flatMap(file => [file, `${file}.map`]),
    ...parts.flatMap(({ name }) => ['js', 'cjs', 'cjs.map'].map(suffix => `dist/${name}.${suffix}`)),
    ...faces.map(([file]) => file),
  ]
}

/**
 * Wraps a part in a function, as Node does for CommonJS files. Modules use `import.meta.url` only to create
 * `require`.
 */
const PART = {
  format: 'cjs',
  define: { 'import.meta.url': '__filename' },
  banner: { js: '(function(exports,require,module,__filename,importFrom){' },
  footer: { js: '})' },
}

/** Returns a module that exports all exports of the files. */
const exportsOf = (outputs, members) =>
  members
    .map(file => {
      const names = outputs[file].exports.map(name => `${name} as ${joinedName(file, name)}`)
      return `export{${names.join()}}from"./${file}"`
    })
    .join('\n')

/**
 * An esbuild plugin that turns a part's imports of joined files into `require` calls. A dynamic import
 * becomes a resolved promise, because cached code cannot import by itself.
 */
const linkingInPart = (outputs, joined, current) => ({
  name: 'linking',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /./ }, ({ path, resolveDir, kind, namespace }) => {
      if (namespace === 'joined') return { path, external: true }
      const isLate = kind === 'dynamic-import'
      const file = path.startsWith('.') ? posix.join(posix.relative(root, resolveDir), path) : path
      if (joined.has(file))
        return isLate || joined.get(file) !== current ? { path: file, namespace: 'joined' } : undefined
      return isLate
        ? { path: path === file ? path : relative('dist/part', file), namespace: 'late' }
        : undefined
    })
    onLoad({ filter: /./, namespace: 'joined' }, ({ path }) => ({
      contents: requiring(outputs, path, joined.get(path)),
      resolveDir: root,
    }))
    onLoad({ filter: /./, namespace: 'late' }, ({ path }) => ({
      contents: `export const then=(...on)=>importFrom(${JSON.stringify(path)}).then(...on)`,
    }))
  },
})

/** An esbuild plugin that redirects imports of joined files to the module of their part. */
const linkingInModule = (outputs, joined, current) => ({
  name: 'linking',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, kind, namespace }) => {
      if (kind === 'entry-point') return undefined
      if (namespace === 'joined') return { path, external: true }
      const file = posix.join(posix.relative(root, resolveDir), path)
      if (joined.has(file) && kind !== 'dynamic-import') return { path: file, namespace: 'joined' }
      return { path: relative(current, file), external: true }
    })
    onLoad({ filter: /./, namespace: 'joined' }, ({ path }) => ({
      contents: leadingTo(outputs, path, relative(current, `dist/${joined.get(path)}.js`)),
      resolveDir: root,
    }))
  },
})
