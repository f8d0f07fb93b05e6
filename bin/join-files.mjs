// Joins files of the build that are loaded together, for bin/build.mjs: esbuild makes a file of whatever any
// two parts share, and Node takes a millisecond to find, read, compile and link each. What was joined is a
// CommonJS file, which bin/parts.cjs loads, because V8 can keep the code of no other, and a module of its
// name that leads there.
import { createHash } from 'node:crypto'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A file, and all that is loaded with it. */
const closureOf = (outputs, file, found = new Set()) => {
  if (found.has(file)) return found
  found.add(file)
  for (const { path, kind } of outputs[file].imports)
    if (kind === 'import-statement' && path in outputs) closureOf(outputs, path, found)
  return found
}

/** The files of each group that no group before it has. */
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

/** A name that changes with what the files hold. */
const nameOf = async files => {
  const hash = createHash('sha256')
  for (const file of files) hash.update(await readFile(`${root}/${file}`))
  return `part-${hash.digest('hex').slice(0, 8).toUpperCase()}`
}

/** How what a file exports is called in the file that it was joined into. */
const joinedName = (file, name) => `${posix.basename(file, '.js').replace(/\W/g, '_')}_${name}`

const relative = (from, to) => `./${posix.relative(posix.dirname(from), to)}`.replace('./../', '../')

/** A module that has what a file exports from the part that the file was joined into. */
const requiring = (outputs, member, part) => {
  const names = outputs[member].exports.map(name => `${joinedName(member, name)}:${name}`)
  return `export const{${names.join()}}=require("./${part}.cjs");`
}

/** The same, by way of the module of that part. */
const leadingTo = (outputs, member, module) => {
  const names = outputs[member].exports.map(name => `${joinedName(member, name)} as ${name}`)
  return `export{${names.join()}}from${JSON.stringify(module)};`
}

/** What leads to a file that was joined: a module for who imports it late, else what a program requires. */
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
 * Joins the files of a build by groups: those that are loaded with each of some lists of entry points, unless
 * a group before has them. A file that was joined stays only where it is imported by itself, as a line that
 * leads to the other. `common`: options of esbuild. Resolves with the files that are there now.
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

/** A function, as Node makes of each such file. Modules want `import.meta.url` only to require by it. */
const PART = {
  format: 'cjs',
  define: { 'import.meta.url': '__filename' },
  banner: { js: '(function(exports,require,module,__filename,importFrom){' },
  footer: { js: '})' },
}

/** A module that exports all that files export. */
const exportsOf = (outputs, members) =>
  members
    .map(file => {
      const names = outputs[file].exports.map(name => `${name} as ${joinedName(file, name)}`)
      return `export{${names.join()}}from"./${file}"`
    })
    .join('\n')

/**
 * A plugin that has a part, and each import of what was joined there, require that part. What a part imports
 * late stands for a promise of it, because code that was kept cannot import by itself.
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

/** A plugin that has each import of what was joined lead to the module of that part. */
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
