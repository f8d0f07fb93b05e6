// Joins files of the build that are loaded together, for bin/build.js: esbuild makes a file of whatever any
// two parts share, and Node takes a millisecond to find, read, compile and link each.
import { createHash } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
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

const hashOf = names => createHash('sha256').update(names.join()).digest('hex').slice(0, 8).toUpperCase()

/** How what a file exports is called in the file that it was joined into. */
const joinedName = (file, name) => `${posix.basename(file, '.js').replace(/\W/g, '_')}_${name}`

const relative = (from, to) => `./${posix.relative(posix.dirname(from), to)}`.replace('./../', '../')

/**
 * Joins the files of a build by groups: those that are loaded with each of some lists of entry points, unless
 * a group before has them. A file that was joined stays only where it is imported by itself, as a line that
 * leads to the other. `common`: options of esbuild. Resolves with the files that are there now.
 */
export async function joinFiles(outputs, groups, common) {
  const joined = new Map()
  const parts = membersOf(outputs, groups).map(members => ({
    members,
    file: `dist/part-${hashOf(members.map(file => `${file} ${outputs[file].exports}`))}.js`,
  }))
  for (const { members, file } of parts) for (const member of members) joined.set(member, file)
  const leading = (member, from) => {
    const names = outputs[member].exports.map(name => `${joinedName(member, name)} as ${name}`)
    return `export{${names.join()}}from${JSON.stringify(relative(from, joined.get(member)))};`
  }
  const write = async (file, entry) => {
    const result = await build({
      ...common,
      ...entry,
      outfile: file,
      allowOverwrite: true,
      write: false,
      plugins: [linking(joined, file, leading)],
    })
    return result.outputFiles
  }
  const others = Object.keys(outputs).filter(file => file.endsWith('.js') && !joined.has(file))
  const written = await Promise.all([
    ...parts.map(({ members, file }) =>
      write(file, { stdin: { contents: exportsOf(outputs, members), resolveDir: root } }),
    ),
    ...others.map(file => write(file, { entryPoints: [file] })),
  ])
  for (const file of joined.keys())
    for (const suffix of ['', '.map']) await rm(`${root}/${file}${suffix}`, { force: true })
  for (const { path, contents } of written.flat()) await writeFile(path, contents)
  const alone = [...joined.keys()].filter(file => outputs[file].entryPoint !== undefined)
  for (const file of alone) await writeFile(`${root}/${file}`, leading(file, file))
  return [
    ...others,
    ...others.map(file => `${file}.map`),
    ...parts.flatMap(({ file }) => [file, `${file}.map`]),
    ...alone,
  ]
}

/** A module that exports all that files export. */
const exportsOf = (outputs, members) =>
  members
    .map(file => {
      const names = outputs[file].exports.map(name => `${name} as ${joinedName(file, name)}`)
      return `export{${names.join()}}from"./${file}"`
    })
    .join('\n')

/** A plugin that has imports of what was joined lead to the file that it was joined into. */
const linking = (joined, current, leading) => ({
  name: 'linking',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, kind, namespace }) => {
      if (namespace === 'joined') return { path, external: true }
      const file = posix.join(posix.relative(root, resolveDir), path)
      if (kind === 'entry-point') return undefined
      if (!joined.has(file) || kind === 'dynamic-import')
        return { path: relative(current, file), external: true }
      return joined.get(file) === current ? undefined : { path: file, namespace: 'joined' }
    })
    onLoad({ filter: /./, namespace: 'joined' }, ({ path }) => ({
      contents: leading(path, current),
      resolveDir: root,
    }))
  },
})
