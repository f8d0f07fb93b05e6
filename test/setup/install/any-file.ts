import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import { CLIENTS, type ClientProgram } from '../../../src/setup/clients/clients.js'
import type { Json } from '../../../src/setup/edit/change.js'
import type { Disk } from '../../../src/setup/files/disk.js'
import { openFile } from '../../../src/setup/files/edit-file.js'
import { entryFor, KEY } from '../../../src/setup/install/entry.js'
import { entryMembersOf, planInstall, planUndo } from '../../../src/setup/install/install.js'
import { Journals } from '../../../src/setup/install/journal.js'
import { runs } from '../../support/property.js'

const PROGRAMS = { node: 'NODE', connect: 'CONNECT', config: 'FILE', version: '0.3.1' }
const TERMS = { via: 'stdio', url: 'http://127.0.0.1:8808/mcp', view: undefined, project: undefined } as const

/** A disk in memory, for thousands of files. */
const memoryDisk = (files: Map<string, Buffer>): Disk => {
  const missing = (): never => {
    throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
  }
  const read = (path: string): Buffer => files.get(path) ?? missing()
  const nothing = (): Promise<void> => Promise.resolve()
  const handle = (path: string) => ({
    writeFile: (bytes: Uint8Array) => Promise.resolve(void files.set(path, Buffer.from(bytes))),
    ...{ chown: nothing, chmod: nothing, sync: nothing, close: nothing },
  })
  const disk = {
    mkdir: nothing,
    open: (path: string) => Promise.resolve(handle(path)),
    readdir: (folder: string) =>
      Promise.resolve([...files.keys()].flatMap(path => path.split(`${folder}/`)[1] ?? [])),
    readFile: async (path: string) => await Promise.resolve(read(path)),
    readlink: async () => await Promise.reject(new Error('no link')),
    rename: async (from: string, to: string) => {
      await Promise.resolve(files.set(to, read(from)))
      files.delete(from)
    },
    rm: (path: string) => Promise.resolve(void files.delete(path)),
    stat: async (path: string) =>
      await Promise.resolve({ mode: 0o644, size: read(path).length, uid: 0, gid: 0, isFile: () => true }),
  }
  return disk as unknown as Disk
}

/** How a file is written: what stands between its parts is taken from `gaps`, one after the other. */
interface Style {
  readonly gaps: readonly number[]
  readonly indent: string
  readonly isWindows: boolean
  readonly hasMark: boolean
  readonly hasEnd: boolean
}

interface Content {
  readonly servers: readonly (readonly [string, Readonly<Record<string, Json>>])[]
  readonly others: readonly (readonly [string, Json])[]
}

type Write = (content: Content, gap: (kinds: readonly string[]) => string, indent: string) => string

const jsonc =
  (at: readonly string[]): Write =>
  ({ servers, others }, gap, indent) => {
    const space = (): string => gap(['', '', ' ', '\n', '\t', ' /* ci */ ', ' // ci\n', '\n  // ci\n  '])
    const value = (it: Json, depth: number): string => {
      if (Array.isArray(it))
        return `[${it.map(each => space() + value(each as Json, depth)).join(',')}${space()}]`
      if (typeof it !== 'object' || it === null) return JSON.stringify(it)
      const pad = indent.repeat(depth)
      const members = Object.entries(it).map(
        ([name, each]) =>
          `\n${pad}${JSON.stringify(name)}${space()}:${space()}${value(each, depth + 1)}${space()}`,
      )
      const comma = members.length > 0 ? gap(['', ',']) : ''
      return `{${space()}${members.join(',')}${comma}${space()}\n${indent.repeat(depth - 1)}}`
    }
    const inner = at.reduceRight<Readonly<Record<string, Json>>>(
      (all, key) => ({ [key]: all }),
      Object.fromEntries(servers),
    )
    const [first, ...rest] = others
    const root = Object.fromEntries([
      ...(first === undefined ? [] : [first]),
      ...Object.entries(inner),
      ...rest,
    ])
    return `${space()}${value(root, 1)}${space()}\n`
  }

const toml: Write = ({ servers, others }, gap) => {
  const end = (): string => gap(['\n', '\n', ' # ci\n', '\n\n', '\n# ci\n', '\n\n# ci\n# ci\n'])
  const flat = (it: Json): string => {
    if (Array.isArray(it))
      return `[${gap(['', '\n  # ci\n  '])}${it.map(each => flat(each as Json)).join(gap([', ', ',\n  ']))}]`
    if (typeof it !== 'string') return String(it)
    return it.includes("'") ? JSON.stringify(it) : gap([JSON.stringify(it), `'${it}'`, `"""\n${it}"""`])
  }
  const table = (path: string, members: readonly (readonly [string, Json])[]): string => {
    const plain = members.filter(([, it]) => typeof it !== 'object' || Array.isArray(it))
    const deeper = members.filter(([, it]) => typeof it === 'object' && !Array.isArray(it)) as [
      string,
      object,
    ][]
    const lines = plain.map(([name, it]) => `${JSON.stringify(name)} = ${flat(it)}${end()}`)
    const tables = deeper.map(([name, it]) => table(`${path}.${JSON.stringify(name)}`, Object.entries(it)))
    return `[${path}]${end()}${lines.join('')}${tables.join('')}`
  }
  const own = servers.map(([name, entry]) =>
    table(`mcp_servers.${gap([`"${name}"`, name])}`, Object.entries(entry)),
  )
  const more = others.map(([name, it]) => `[tui.${name}]${end()}"x" = ${flat(it)}${end()}`)
  return `${gap(['', '# ci\n', '"""x""" = 1\n'].slice(0, 2))}model = "x"${end()}${[...more.slice(0, 1), ...own, ...more.slice(1)].join('')}`
}

const yaml =
  (at: string, isList: boolean): Write =>
  ({ servers, others }, gap, indent) => {
    const end = (): string => gap(['\n', '\n', ' # ci\n', '\n\n', '\n# ci\n'])
    const tail = (pad: string): string => gap(['\n', '\n', ' # ci\n', `\n${pad}# ci\n`, '\n\n'])
    const scalar = (it: Json): string => (typeof it === 'string' ? JSON.stringify(it) : String(it))
    const lines = (it: Json, pad: string): string => {
      if (Array.isArray(it)) {
        if (it.length === 0) return ` []${tail(pad)}`
        if (gap(['', 'flow']) !== '')
          return ` [${it.map(each => scalar(each as Json)).join(', ')}]${tail(pad)}`
        return `${end()}${it.map(each => `${pad}- ${scalar(each as Json)}${tail(pad)}`).join('')}`
      }
      if (typeof it !== 'object' || it === null) return ` ${scalar(it)}${tail(pad)}`
      const members = Object.entries(it)
      if (members.length === 0) return ` {}${tail(pad)}`
      return `${end()}${members.map(([name, each]) => `${pad}${name}:${lines(each, pad + indent)}`).join('')}`
    }
    const entry = ([name, it]: Content['servers'][number]): string => {
      if (!isList) return `${indent}${name}:${lines(it, indent + indent)}`
      const members = Object.entries(it).map(
        ([key, each]) => `${indent}  ${key}:${lines(each, `${indent}    `)}`,
      )
      return `${indent}- name: ${name}${tail(indent)}${members.join('')}`
    }
    const more = others.map(([name, it]) => `${name}:${lines(it, indent)}`)
    const own = servers.length === 0 ? '' : `${at}:${end()}${servers.map(entry).join('')}`
    return `${gap(['', '# ci\n'])}${more.slice(0, 1).join('')}${own}${more.slice(1).join('')}`
  }

const writerOf = ({ syntax, at, isList }: ClientProgram): Write => {
  if (syntax === 'toml') return toml
  return syntax === 'yaml' ? yaml(at[0] ?? '', isList === true) : jsonc(at)
}

/** The text of a file, with comments that are all different. */
const written = (client: ClientProgram, content: Content, style: Style): string => {
  let at = 0
  const gap = (kinds: readonly string[]): string =>
    kinds[(style.gaps[at++ % style.gaps.length] ?? 0) % kinds.length] ?? ''
  const isYaml = client.syntax === 'yaml'
  const text = writerOf(client)(content, gap, isYaml ? style.indent.replace('\t', '   ') : style.indent)
  let count = 0
  const body = text.replace(/ci\b/g, () => `c${count++}`).replace(/\n+$/, style.hasEnd ? '\n' : '')
  return (style.hasMark ? '\uFEFF' : '') + (style.isWindows ? body.replaceAll('\n', '\r\n') : body)
}

const commentsIn = (text: string): readonly string[] => text.match(/(?:\/\*|\/\/|#) c\d+/g) ?? []

const word = fc.constantFrom('a', 'b c', '', "d'e", '[x]', '# no', '// no', '{', '1', 'ü')
const list = fc.array(word, { maxLength: 3 })
const entry = fc.record(
  {
    command: word,
    args: list,
    env: fc.dictionary(fc.constantFrom('A', 'B'), word, { noNullPrototype: true }),
  },
  { requiredKeys: ['command'], noNullPrototype: true },
)
const unique = { selector: ([name]: readonly [string, unknown]) => name }
const contents = fc.record({
  servers: fc.uniqueArray(fc.tuple(fc.constantFrom('db', 'web', 'x-1', 'y2'), entry), {
    maxLength: 4,
    ...unique,
  }),
  others: fc.uniqueArray(
    fc.tuple(fc.constantFrom('theme', 'zoom', 'more'), fc.oneof(word, list, fc.integer())),
    {
      maxLength: 3,
      ...unique,
    },
  ),
})
const styles: fc.Arbitrary<Style> = fc.record({
  gaps: fc.array(fc.nat({ max: 839 }), { minLength: 1, maxLength: 24 }),
  indent: fc.constantFrom('  ', '    ', '\t'),
  ...{ isWindows: fc.boolean(), hasMark: fc.boolean(), hasEnd: fc.boolean() },
})

/** One client of each way to write servers, with the places in which they are. */
const WAYS = CLIENTS.filter(({ id }) =>
  ['cursor', 'zed', 'opencode', 'codex', 'continue', 'librechat', 'goose'].includes(id),
)

t.test('install keeps the rest of every file, and undo restores every byte', async t => {
  for (const client of WAYS) {
    const property = fc.asyncProperty(contents, styles, async (content, style) => {
      const before = written(client, content, style)
      const files = new Map([['/h/file', Buffer.from(before)]])
      const disk = memoryDisk(files)
      const own = { scripts: ['CONNECT'], urls: [TERMS.url] }
      const machine = { platform: 'linux', home: '/h', cwd: '/h', env: {} } as const
      const context = {
        files: { disk, backups: '/s/backups' },
        journals: new Journals(disk, '/s'),
        own,
        machine,
      }
      const place = { client, scope: 'user', file: '/h/file' } as const
      const value = async () => (await openFile(context.files, place.file, client.syntax)).value
      const members = async () => entryMembersOf(await value(), client.at)
      const old = await members()
      const install = async (takes: readonly string[]) => {
        const wish = { entry: entryFor(client, TERMS, PROGRAMS) ?? {}, terms: TERMS, takes }
        const plan = await planInstall(context, place, wish)
        await plan.carryOut()
        return plan.changes.length
      }
      const undo = async () => await (await planUndo(context, place)).carryOut()
      const text = (): string => String(files.get('/h/file'))
      await install([])
      const now = await members()
      const isRest =
        isDeepStrictEqual(
          [...now].filter(([name]) => name !== KEY),
          [...old],
        ) &&
        isDeepStrictEqual(commentsIn(text()), commentsIn(before)) &&
        (!style.isWindows || !before.includes('\n') || !/[^\r]\n/.test(text()))
      const isOnce = (await install([])) === 0
      await undo()
      const isBack = text() === before
      await install([...old.keys()])
      const isTaken = isDeepStrictEqual([...(await members()).keys()], [KEY])
      await undo()
      return isRest && isOnce && isBack && isTaken && text() === before
    })
    await t.resolves(fc.assert(property, runs(client.syntax === 'jsonc' ? 40 : 80)), client.id)
  }
})
