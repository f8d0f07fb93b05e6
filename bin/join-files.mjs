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

/** An import of names in esbuild's minified code. */
const IMPORT = /\bimport\{([^}]*)\}from"(\.[^"]*)"/g

/** Returns for each file the names that it imports from other files, as pairs of file and name. */
const readImports = async outputs => {
  const imports = new Map()
  for (const file of Object.keys(outputs).filter(each => each.endsWith('.js'))) {
    const text = await readFile(`${root}/${file}`, 'utf8')
    const pairs = [...text.matchAll(IMPORT)].flatMap(([, names, path]) =>
      names.split(',').map(each => [posix.join(posix.dirname(file), path), each.split(' as ', 1)[0]]),
    )
    imports.set(file, pairs)
  }
  return imports
}

/**
 * Describes a part: its members, the names of their exports in the part, and its own name, with a hash of the
 * content. Only exports that `isUsed` confirms are exports of the part.
 */
const describePart = async (outputs, members, isUsed) => {
  const names = new Map()
  const hash = createHash('sha256')
  let count = 0
  for (const file of members) {
    const used = outputs[file].exports.filter(name => isUsed(file, name))
    names.set(file, new Map(used.map(name => [name, `a${(count++).toString(36)}`])))
    hash.update(await readFile(`${root}/${file}`)).update(used.join())
  }
  return { members, names, name: `part-${hash.digest('hex').slice(0, 8).toUpperCase()}` }
}

const relative = (from, to) => `./${posix.relative(posix.dirname(from), to)}`.replace('./../', '../')

/** Returns a module that re-exports a file's exports from its part, as far as `isUsed` confirms them. */
const requiring = (member, part, isUsed) => {
  const names = [...part.names.get(member)].filter(([name]) => isUsed(member, name))
  return `export const{${names.map(([name, joined]) => `${joined}:${name}`)}}=require("./${part.name}.cjs");`
}

/** The same from the module of its part. */
const leadingTo = (member, part, isUsed, from) => {
  const names = [...part.names.get(member)].filter(([name]) => isUsed(member, name))
  const module = JSON.stringify(relative(from, `dist/${part.name}.js`))
  return `export{${names.map(([name, joined]) => `${joined} as ${name}`)}}from${module};`
}

/**
 * Returns the replacement of a joined file: a module for dynamic imports, or the code that a program
 * requires.
 */
const faceOf = (file, part) => {
  if (posix.basename(file).startsWith('part-')) return [file, leadingTo(file, part, () => true, file)]
  const exported = [...part.names.get(file)].map(([name, joined]) => `exports.${name}=part.${joined};`)
  const parts = JSON.stringify(relative(file, 'bin/parts.cjs'))
  return [
    file.replace(/\.js$/, '.cjs'),
    `const part=require(${parts}).load("${part.name}.cjs");${exported.join('')}`,
  ]
}

/**
 * Joins the files of a build by groups. A group consists of the files loaded with each of its lists of entry
 * points, except files of earlier groups. A joined file remains only if it is imported on its own, as a line
 * that re-exports the other. `common` holds options of esbuild. Resolves with the remaining files.
 */
export async function joinFiles(outputs, groups, common) {
  const imports = await readImports(outputs)
  const isEntry = file => outputs[file].entryPoint !== undefined
  /** Returns a function that tells whether any of the files may use an export. */
  const usedBy = files => {
    const used = new Set(files.flatMap(file => imports.get(file)).map(pair => pair.join()))
    return (file, name) => isEntry(file) || used.has([file, name].join())
  }
  const files = [...imports.keys()]
  const parts = await Promise.all(
    membersOf(outputs, groups).map(members =>
      describePart(outputs, members, usedBy(files.filter(file => !members.includes(file)))),
    ),
  )
  const joined = new Map(parts.flatMap(part => part.members.map(member => [member, part])))
  const write = async (outfile, options, linking) => {
    const settings = { ...common, ...options, outfile, allowOverwrite: true, write: false }
    return (await build({ ...settings, plugins: [linking] })).outputFiles
  }
  const others = files.filter(file => !joined.has(file))
  const written = await Promise.all([
    ...parts.map(part => {
      const stdin = { contents: exportsOf(part), resolveDir: root }
      const linking = linkingInPart(joined, part, usedBy(part.members))
      return write(`dist/${part.name}.cjs`, { ...PART, stdin }, linking)
    }),
    ...others.map(file =>
      write(file, { entryPoints: [file] }, linkingInModule(joined, file, usedBy([file]))),
    ),
  ])
  for (const file of joined.keys())
    for (const suffix of ['', '.map']) await rm(`${root}/${file}${suffix}`, { force: true })
  for (const { path, contents } of written.flat()) await writeFile(path, contents)
  const isUsed = usedBy(others)
  for (const { name, names } of parts) {
    const used = [...names].flatMap(([file, each]) =>
      [...each].filter(([exported]) => isUsed(file, exported)).map(([, inPart]) => inPart),
    )
    const exported = `export const{${used}}=parts.load("${name}.cjs");`
    await writeFile(`${root}/dist/${name}.js`, `import parts from"../bin/parts.cjs";${exported}`)
  }
  const faces = [...joined.keys()].filter(isEntry).map(file => faceOf(file, joined.get(file)))
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
  // No list of exports for Node's lexer.
  platform: 'neutral',
  define: { 'import.meta.url': '__filename' },
  banner: { js: '(function(exports,require,module,__filename,importFrom){' },
  footer: { js: '})' },
}

/** Returns a module that exports the exports of a part. */
const exportsOf = ({ names }) =>
  [...names]
    .map(([file, each]) => {
      const exported = [...each].map(([name, inPart]) => `${name} as ${inPart}`)
      return `export{${exported}}from"./${file}"`
    })
    .join('\n')

/**
 * An esbuild plugin that turns a part's imports of joined files into `require` calls. A dynamic import
 * becomes a resolved promise, because cached code cannot import by itself.
 */
const linkingInPart = (joined, current, isUsed) => ({
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
      contents: requiring(path, joined.get(path), isUsed),
      resolveDir: root,
    }))
    onLoad({ filter: /./, namespace: 'late' }, ({ path }) => ({
      contents: `export const then=(...on)=>importFrom(${JSON.stringify(path)}).then(...on)`,
    }))
  },
})

/** An esbuild plugin that redirects imports of joined files to the module of their part. */
const linkingInModule = (joined, current, isUsed) => ({
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
      contents: leadingTo(path, joined.get(path), isUsed, current),
      resolveDir: root,
    }))
  },
})
