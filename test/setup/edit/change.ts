import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t from 'tap'
import {
  EditError,
  edit,
  type FileChange,
  type Json,
  type ParseText,
  valueIn,
} from '../../../src/setup/edit/change.js'
import { parseJsonc } from '../../../src/setup/edit/jsonc.js'
import { parseToml } from '../../../src/setup/edit/toml.js'
import { parseYaml } from '../../../src/setup/edit/yaml.js'
import { runs } from '../../support/property.js'

const ENTRY = { command: 'NODE', args: ['CONNECT'] }
const put = (at: string[], value: Json = ENTRY): FileChange => ({ at, name: 'us', value })
const take = (at: string[], name = 'db'): FileChange => ({ at, name, value: undefined })
const S = ['mcpServers']

/** A text, what adding to it makes of it, and what taking out its server `db` as well does. */
const JSONC: readonly (readonly [what: string, before: string, added: string, taken: string])[] = [
  [
    'a comment at the end of the last line, and a trailing comma',
    '{ // mine\n  "mcpServers": {\n    "db": { "command": "x" }, // last\n  }\n}\n',
    '{ // mine\n  "mcpServers": {\n    "db": { "command": "x" }, // last\n    "us": { "command": "NODE", "args": ["CONNECT"] },\n  }\n}\n',
    '{ // mine\n  "mcpServers": {\n    // last\n    "us": { "command": "NODE", "args": ["CONNECT"] },\n  }\n}\n',
  ],
  [
    'tabs, and comments below the last server',
    '{\n\t"mcpServers": {\n\t\t"db": {\n\t\t\t"command": "x" /* c */\n\t\t} // last\n\t\t// tail\n\t}\n}',
    '{\n\t"mcpServers": {\n\t\t"db": {\n\t\t\t"command": "x" /* c */\n\t\t}, // last\n\t\t"us": {\n\t\t\t"command": "NODE",\n\t\t\t"args": [\n\t\t\t\t"CONNECT"\n\t\t\t]\n\t\t}\n\t\t// tail\n\t}\n}',
    '{\n\t"mcpServers": {\n\t\t// last\n\t\t"us": {\n\t\t\t"command": "NODE",\n\t\t\t"args": [\n\t\t\t\t"CONNECT"\n\t\t\t]\n\t\t}\n\t\t// tail\n\t}\n}',
  ],
  [
    'no white space at all',
    '{"mcpServers":{"db":{"command":"x"}},"z":1}',
    '{"mcpServers":{"db":{"command":"x"},"us":{"command":"NODE","args":["CONNECT"]}},"z":1}',
    '{"mcpServers":{"us":{"command":"NODE","args":["CONNECT"]}},"z":1}',
  ],
  [
    'CRLF, and no servers yet',
    '\uFEFF{\r\n  "a": 1, /* x */ "b": 2\r\n}\r\n',
    '\uFEFF{\r\n  "a": 1, /* x */ "b": 2,\r\n  "mcpServers": {\r\n    "us": {\r\n      "command": "NODE",\r\n      "args": [\r\n        "CONNECT"\r\n      ]\r\n    }\r\n  }\r\n}\r\n',
    '',
  ],
  [
    'an empty map with a comment',
    '{\n  "mcpServers": { // none\n  }\n}\n',
    '{\n  "mcpServers": { // none\n    "us": {\n      "command": "NODE",\n      "args": [\n        "CONNECT"\n      ]\n    }\n  }\n}\n',
    '',
  ],
  [
    'an empty file',
    '',
    '{\n  "mcpServers": {\n    "us": {\n      "command": "NODE",\n      "args": [\n        "CONNECT"\n      ]\n    }\n  }\n}\n',
    '',
  ],
  [
    'a comment between value and comma',
    '{ "mcpServers": { "db": {} /* a */, // b\n "c": {} } }\n',
    '{ "mcpServers": { "db": {} /* a */, // b\n "c": {},\n "us": {\n  "command": "NODE",\n  "args": [\n   "CONNECT"\n  ]\n }\n } }\n',
    '',
  ],
]

const TOML: typeof JSONC = [
  [
    'tables beside others',
    'model = "x" # keep\n[mcpServers.db]\ncommand = "db-mcp"\n',
    'model = "x" # keep\n[mcpServers.db]\ncommand = "db-mcp"\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
    'model = "x" # keep\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
  ],
  [
    'what looks like a header in a text, and comments above headers',
    'a = """\n[x]\n"""\r\n\r\n# of db\r\n[mcpServers.db]\r\ncommand = "x"\r\n[mcpServers.db.env]\r\nK = \'[y]\'\r\n\r\n# of tui\r\n[tui]\r\nl = [\r\n[1],\r\n]',
    'a = """\n[x]\n"""\r\n\r\n# of db\r\n[mcpServers.db]\r\ncommand = "x"\r\n[mcpServers.db.env]\r\nK = \'[y]\'\r\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n\r\n# of tui\r\n[tui]\r\nl = [\r\n[1],\r\n]',
    '',
  ],
  [
    'what looks like a comment above a header, and is the end of a text with one behind it',
    '[tui]\nx = ["""\n# no"""] # ci\n[mcpServers.db]\ncommand = "x"\n',
    '[tui]\nx = ["""\n# no"""] # ci\n[mcpServers.db]\ncommand = "x"\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
    '[tui]\nx = ["""\n# no"""] # ci\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
  ],
]

/** Comments below a table may be about anything, and stay. */
const BELOW: typeof JSONC = [
  [
    'comments at the end of a table, and of the file',
    '# of db\n[mcpServers.db]\ncommand = "x"\n# c\n\n# end\n',
    '# of db\n[mcpServers.db]\ncommand = "x"\n# c\n\n# end\n\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
    '# c\n\n# end\n\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
  ],
  [
    'a comment of the last line',
    '[mcpServers.db]\ncommand = "x"\n  # c',
    '[mcpServers.db]\ncommand = "x"\n  # c\n\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
    '  # c\n\n[mcpServers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n',
  ],
]

const YAML: typeof JSONC = [
  [
    'a list at the indent of its key',
    'mcpServers: # ours\n- name: db\n  command:   db-mcp # keep\nother: 1',
    'mcpServers: # ours\n- name: db\n  command:   db-mcp # keep\n- name: us\n  command: NODE\n  args: [CONNECT]\nother: 1',
    'mcpServers: # ours\n- name: us\n  command: NODE\n  args: [CONNECT]\nother: 1',
  ],
  [
    'a map whose last text has lines of its own',
    'mcpServers:\n    db:\n        note: |\n          a\n          b\n    # tail\n# end\n',
    'mcpServers:\n    db:\n        note: |\n          a\n          b\n    us:\n      name: us\n      command: NODE\n      args: [CONNECT]\n    # tail\n# end\n',
    'mcpServers:\n    us:\n      name: us\n      command: NODE\n      args: [CONNECT]\n    # tail\n# end\n',
  ],
  [
    'an empty map',
    'a: 1\nmcpServers: {} # none\nb: 2\n',
    'a: 1\nmcpServers: # none\n  us:\n    name: us\n    command: NODE\n    args: [CONNECT]\nb: 2\n',
    '',
  ],
  [
    'a key without a value',
    'mcpServers:\nb: 2\n',
    'mcpServers:\n  us:\n    name: us\n    command: NODE\n    args: [CONNECT]\nb: 2\n',
    '',
  ],
  [
    'a key that is null in words',
    'mcpServers: ~ # none\nb: null\n',
    'mcpServers: # none\n  us:\n    name: us\n    command: NODE\n    args: [CONNECT]\nb: null\n',
    '',
  ],
  [
    'a comment of its own below the last value',
    'mcpServers:\n  db:\n    env:\n      A: x\n      # tail\nb: 2\n',
    'mcpServers:\n  db:\n    env:\n      A: x\n      # tail\n  us:\n    name: us\n    command: NODE\n    args: [CONNECT]\nb: 2\n',
    'mcpServers:\n  us:\n    name: us\n    command: NODE\n    args: [CONNECT]\nb: 2\n',
  ],
  [
    'only comments',
    '# x',
    '# x\nmcpServers:\n  us:\n    name: us\n    command: NODE\n    args: [CONNECT]\n',
    '',
  ],
]

t.test('a server is added and taken in the way of its neighbours', async t => {
  const all = [
    [parseJsonc, JSONC, ENTRY],
    [parseToml, [...TOML, ...BELOW], ENTRY],
    [parseYaml, YAML, { name: 'us', ...ENTRY }],
  ] as const
  for (const [parse, rows, entry] of all) {
    for (const [what, before, added, taken] of rows) {
      t.equal(edit(parse, before, [put(S, entry)]), added, what)
      t.equal(edit(parse, added, [put(S, entry)]), added, `${what}, a second time`)
      if (taken !== '')
        t.equal(edit(parse, before, [put(S, entry), take(S)]), taken, `${what}, without the other`)
    }
  }
})

t.test('a file that splices cannot edit is refused with the line', async t => {
  const rows: readonly (readonly [ParseText, string, FileChange, number])[] = [
    [parseJsonc, '{\n"mcpServers": {},\n"mcpServers": {} }', put(S), 3],
    [parseJsonc, '{\n"mcpServers": [] }', put(S), 2],
    [parseJsonc, '{\n"mcpServers": 7 }', put(S), 2],
    [parseJsonc, '\n[]', put(S), 2],
    [parseJsonc, '{\n"mcpServers": {', put(S), 2],
    [parseToml, '\nmcpServers = { db = {} }\n', put(S), 2],
    [parseToml, '\n[mcpServers]\ndb = { command = "x" }\n', take(S), 3],
    [parseToml, '\n[mcpServers.db]\n[mcpServers.db]\n', put(S), 3],
    [parseToml, '\nmcpServers = 7\n', put(S), 2],
    [parseYaml, '\nmcpServers: 7\n', put(S), 2],
    [parseYaml, '\nmcpServers: { db: {} }\n', put(S), 2],
    [parseYaml, '\nmcpServers: [{ name: db }]\n', put(S), 2],
    [parseYaml, '\na: 1\na: 2\n', put(S), 3],
    [parseYaml, '\na: 1\n---\nb: 2\n', put(S), 3],
    [parseYaml, 'a: "s3cret\n', put(S), 2],
  ]
  for (const [parse, text, change, line] of rows) {
    try {
      edit(parse, text, [change])
      t.fail(`edited: ${text}`)
    } catch (thrown) {
      t.ok(thrown instanceof EditError, text)
      t.match(thrown, { line }, text)
      t.notMatch(String(thrown), 's3cret')
    }
  }
})

t.test('what hides behind an alias is left alone', async t => {
  const text = 'x: &x\n  db:\n    a: 1\nmcpServers: *x\n'
  t.throws(() => edit(parseYaml, text, [put(S)]), EditError)
})

/** White space and comments, as they may stand anywhere between the signs of JSONC. */
const gap = fc.constantFrom('', ' ', '\n', '\r\n  ', '\t', ' /* c1 */ ', ' // c2\n', '\n  // c3\n  ')
const jsoncOf = (value: Json, gaps: () => string, comma: () => boolean): string => {
  if (Array.isArray(value))
    return `[${gaps()}${value.map(each => jsoncOf(each as Json, gaps, comma) + gaps()).join(`,${gaps()}`)}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}${gaps()}:${gaps()}${jsoncOf(each, gaps, comma)}${gaps()}`,
  )
  const tail = members.length > 0 && comma() ? `,${gaps()}` : ''
  return `{${gaps()}${members.join(`,${gaps()}`)}${tail}}`
}
const commentsIn = (text: string) => text.match(/\/\* c1 \*\/|\/\/ c[23]/g) ?? []
const name = fc.constantFrom('db', 'web', 'a b', '__proto__', 'x')
const leaf = fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), fc.string({ maxLength: 5 }))
const entry = fc.dictionary(name, fc.oneof(leaf, fc.array(leaf, { maxLength: 2 })), {
  maxKeys: 3,
  noNullPrototype: true,
})
const file = fc.record({
  mcpServers: fc.dictionary(name, entry, { maxKeys: 4, noNullPrototype: true }),
  other: entry,
})

t.test('an edit of JSONC keeps all other values and all comments', async () => {
  const property = fc.property(
    file,
    fc.array(gap, { minLength: 1, maxLength: 30 }),
    fc.boolean(),
    (value, gaps, comma) => {
      let at = 0
      const text = jsoncOf(
        value,
        () => gaps[at++ % gaps.length] ?? '',
        () => comma,
      )
      const names = Object.keys(value.mcpServers)
      const added = edit(parseJsonc, text, [put(S)])
      const back = edit(parseJsonc, added, [take(S, 'us')])
      const bare = edit(
        parseJsonc,
        added,
        names.map(each => take(S, each)),
      )
      const kept =
        isDeepStrictEqual(commentsIn(added), commentsIn(text)) &&
        isDeepStrictEqual(commentsIn(back), commentsIn(text))
      const same = isDeepStrictEqual(valueIn(parseJsonc, back), valueIn(parseJsonc, text))
      const rest = valueIn(parseJsonc, bare) as { mcpServers: object; other: object }
      return (
        kept &&
        same &&
        isDeepStrictEqual(Object.keys(rest.mcpServers), ['us']) &&
        isDeepStrictEqual(rest.other, { ...value.other })
      )
    },
  )
  fc.assert(property, runs(1000))
})

const NESTED: Json = { command: 'NEW', env: { A: 'b' }, 'odd name': { list: [1, { 'a b': true }], x: 'y' } }

/** A file with an entry of ours, and with nothing else; both as its program writes it. */
const OURS: readonly (readonly [what: string, parse: ParseText, text: string])[] = [
  ['TOML', parseToml, '[mcpServers.us]\ncommand = "OLD"\n\n[mcpServers.us.env]\nA = "c"\n\n[other]\nx = 1\n'],
  ['YAML', parseYaml, 'mcpServers:\n  us:\n    command: OLD\n    env:\n      A: c\nother:\n  x: 1\n'],
  ['YAML without an end', parseYaml, 'other:\n  x: 1\nmcpServers:\n  us:\n    command: OLD'],
  ['JSONC', parseJsonc, '{"other":{"x":1},"mcpServers":{"us":{"command":"OLD"}}}'],
]

t.test('an entry of ours is replaced where it is, and taken out when it is the only one', async t => {
  for (const [, text] of BELOW) {
    const added = `${edit(parseToml, text, [put(S)])}# later\n`
    const back = edit(parseToml, edit(parseToml, added, [put(S, NESTED)]), [take(S, 'us')])
    t.equal(back, `${text}${text.endsWith('\n') ? '' : '\n'}\n# later\n`, 'comments are not ours')
  }
  for (const [what, parse, text] of OURS) {
    const replaced = valueIn(parse, edit(parse, text, [put(S, NESTED)]))
    t.same(replaced, { mcpServers: { us: NESTED }, other: { x: 1 } }, what)
    const taken = valueIn(parse, edit(parse, text, [take(S, 'us')])) as { mcpServers?: object; other: object }
    t.same(taken.mcpServers ?? {}, {}, `${what}: nothing is left`)
    t.same(taken.other, { x: 1 }, `${what}: but what is not ours`)
    t.equal(edit(parse, text, [take(S, 'nobody')]), text, `${what}: who is not there cannot be taken out`)
  }
  const list = 'servers:\n  - name: us\n    command: OLD\n  - name: db\n    command: x\n'
  const item: Json = { name: 'us', command: 'NEW' }
  t.same(valueIn(parseYaml, edit(parseYaml, list, [put(['servers'], item)])), {
    servers: [item, { name: 'db', command: 'x' }],
  })
  const one = edit(parseYaml, list, [take(['servers'], 'us'), take(['servers'], 'db')])
  t.same(valueIn(parseYaml, one), { servers: [] }, 'a list without items is still a list')
})

t.test('only a key that gives servers a value keeps tables of TOML from being edited', async t => {
  const at = ['mcp_servers']
  const table = '\n[mcp_servers.us]\ncommand = "NODE"\nargs = ["CONNECT"]\n'
  for (const text of [
    'notes = """\nmcp_servers = see below\n"""\n',
    "notes = '''\nmcp_servers.us = 1\n'''\n",
    '[features]\nmcp_servers = true\n',
    'list = [\n  "mcp_servers = x",\n]\n',
  ])
    t.equal(edit(parseToml, text, [put(at)]), text + table, text)
  const texts = [
    'mcp_servers = {}\n',
    '"mcp_servers".db = { command = "x" }\n',
    '[mcp_servers]\nus = { command = "x" }\n',
  ]
  for (const text of texts)
    t.throws(() => edit(parseToml, text, [put(at)]), { message: /only tables can be edited/ }, text)
})

t.test('a large file is edited like a small one, in little time', t => {
  const long = { history: Array.from({ length: 40 }, (_, at) => `"quoted" \\ { [ ${at}`), n: 1.5e3 }
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`/p/${at}`, long]))
  const servers = Object.fromEntries(
    Array.from({ length: 12 }, (_, at) => [`s${at}`, { command: 'x'.repeat(at * 60) }]),
  )
  const changes = [put(S), ...Object.keys(servers).map(name => take(S, name))]
  const flat = JSON.stringify({ projects: many, mcpServers: servers, last: long })
  for (const text of [
    flat,
    JSON.stringify(JSON.parse(flat), null, 2),
    `${JSON.stringify({ a: 'y'.repeat(300_000), ...JSON.parse(flat) }, null, '\t')}\n`,
  ]) {
    const beganMs = performance.now()
    const edited = edit(parseJsonc, text, changes)
    t.ok(performance.now() - beganMs < 3000)
    t.ok(isDeepStrictEqual(JSON.parse(edited), { ...JSON.parse(text), mcpServers: { us: ENTRY } }))
    const [start, end] = [text.indexOf('"mcpServers"'), text.indexOf('"last"')]
    t.ok(edited.startsWith(text.slice(0, start)), 'what stands before')
    t.ok(edited.endsWith(text.slice(end)), 'and what stands behind are as they were')
    const back = edit(parseJsonc, edited, [
      take(S, 'us'),
      ...Object.entries(servers).map(([name, value]) => ({ at: S, name, value })),
    ])
    t.ok(isDeepStrictEqual(JSON.parse(back), JSON.parse(text)))
    // As a short text would be.
    const short = text.replace(/"\/p\/0"[\s\S]*"\/p\/399"/, '"/p/399"').replace(/y{9,}/, 'y')
    const shortEdited = edit(parseJsonc, short, changes)
    t.ok(edited.endsWith(shortEdited.slice(shortEdited.indexOf('"mcpServers"'))), 'written alike')
  }
  const twice = flat.replace('"last":', '"projects":')
  t.throws(() => edit(parseJsonc, twice, changes), { message: /second time/ })
  t.end()
})

/** Texts before and after a file's own text. */
const fillers = (syntax: string, count: number): readonly (readonly [before: string, after: string])[] => {
  const lines = (text: (at: number) => string): string =>
    Array.from({ length: count }, (_, at) => text(at)).join('')
  if (syntax === 'jsonc')
    return [[`{ "filler": [\n${lines(at => `  { "a": "${at} // } ,]", }, // "x\n`)}], /* , */\n`, '']]
  if (syntax === 'toml') {
    const tables = lines(at => `# [no]\n[filler."a.${at}"]\nx = """\n[no]\n# no""" # no\n\n`)
    return [
      ['', `\n${tables}`],
      ['', `\n[[filler]]\nl = [\n[1],\n]\n${lines(at => `[[filler]] # ${at}\nx = 'y"'\n`)}`],
    ]
  }
  const map = lines(at => `  a${at}: "b: c" # d\n`)
  return [
    [`filler: # e\n${map}  z: |\n    mcpServers:\n\n# f\n`, ''],
    ['', `\n"filler":\n${map}\n`],
    [`---\nfiller:\n${lines(at => `- ${at}\n`)}\n`, `\n'more':\n${map}# end`],
  ]
}

t.test('the parts of a large file that no change touches are not parsed, and stay', t => {
  const all = [
    ['jsonc', parseJsonc, JSONC, ENTRY],
    ['toml', parseToml, [...TOML, ...BELOW], ENTRY],
    ['yaml', parseYaml, YAML, { name: 'us', ...ENTRY }],
  ] as const
  for (const [syntax, parse, rows, entry] of all) {
    const short = fillers(syntax, 1)
    for (const [n, [before, after]] of fillers(syntax, 20_000).entries()) {
      const [less, rest] = short[n] ?? ['', '']
      for (const [what, own] of rows) {
        // A new member would be next to the filler.
        if (own === '' || own === '# x') continue
        const body = syntax === 'jsonc' ? own.replace(/^\uFEFF?\{/, '') : own
        const text = before + body + after
        const changes = [put(S, entry), take(S)]
        const edited = edit(parse, text, changes)
        const shorter = edited.replace(before, () => less).replace(after, () => rest)
        t.ok(text.length > 256 * 1024, 'large')
        t.equal(shorter, edit(parse, less + body + rest, changes), `${syntax}, filler ${n}: ${what}`)
      }
    }
  }
  t.end()
})

t.test('a large file of any syntax is edited in little time', t => {
  const text = 'text '.repeat(20)
  const numbers = Array.from({ length: 60_000 }, (_, at) => at)
  const files: readonly (readonly [ParseText, string])[] = [
    [
      parseJsonc,
      `{ // mine\n${numbers.map(at => `"p${at}": { "a": "${text}" }, // c\n`).join('')}"mcpServers": {} }`,
    ],
    [parseToml, `[mcpServers.db]\nx = 1\n${numbers.map(at => `[p."${at}"]\na = "${text}"\n`).join('')}`],
    [parseYaml, `mcpServers:\n  db: {}\np:\n${numbers.map(at => `  p${at}:\n    a: ${text}\n`).join('')}`],
    [parseYaml, `mcpServers:\n  db: {}\n${numbers.map(at => `p${at}:\n  a: ${text}\n`).join('')}`],
    [parseToml, `${numbers.map(at => `p${at} = "${text}"\n`).join('')}[mcpServers.db]\nx = 1\n`],
    [
      parseToml,
      `a = [\n${numbers.map(at => `{ b = ${at} }, # [c]\n`).join('')}]\n\n# of db\n[mcpServers.db]\nx = 1\n`,
    ],
  ]
  for (const [parse, large] of files) {
    const began = process.cpuUsage()
    const edited = edit(parse, large, [put(S), put(S, NESTED), put(S)])
    const { user } = process.cpuUsage(began)
    t.ok(user < 3e6, `${user} µs`)
    const back = edit(parse, edited, [take(S, 'us')])
    t.ok(parse === parseJsonc || back.trimEnd() === large.trimEnd())
  }
  t.end()
})

t.test('servers that would take long to parse are refused, and the reason is given', t => {
  const servers = (one: (at: number) => string): string =>
    Array.from({ length: 30_000 }, (_, at) => one(at)).join('')
  const args = `["${'x'.repeat(60)}"]`
  const rows: readonly (readonly [ParseText, string])[] = [
    [parseYaml, `mcpServers:\n${servers(at => `  s${at}:\n    args: ${args}\n`)}`],
    [parseYaml, `{mcpServers: {\n${servers(at => `s${at}: {args: ${args}},\n`)}}}`],
    [parseToml, servers(at => `[mcpServers.s${at}]\nargs = ${args}\n`)],
    [parseToml, `mcpServers = {${servers(at => `s${at} = { args = ${args} }, `)}}\n`],
  ]
  for (const [parse, text] of rows) {
    const began = process.cpuUsage()
    t.throws(
      () => edit(parse, text, [put(S)]),
      /^\d\.\d MiB of this would have to be parsed, and the maximum/,
    )
    t.ok(process.cpuUsage(began).user < 3e6)
  }
  t.end()
})

t.test('an error in a large file is reported with its line', t => {
  const map = Array.from({ length: 20_000 }, (_, at) => `  a${at}: "b: c" # d\n`).join('')
  const rows: readonly (readonly [ParseText, string, number?])[] = [
    [parseYaml, `x:\n${map}\nmcpServers:\n  db: "x\n`],
    [parseYaml, `x:\n${map}\na:\n  - &b c\nmcpServers: [*b]\n`],
    [parseYaml, `x:\n${map.repeat(10)}\nmcpServers:\n  db: "x\n`, 200_005],
    [parseToml, `a = [\n${map.repeat(10).replace(/.+/g, '1234567,')}]\nb = 1\n\nb = 1\n`, 200_005],
    [parseToml, `${map.replace(/.+/g, '# c')}a.1 = 1\n[b]\n[b.c]\nd = 1\n[b.c]\n`],
    [parseToml, `${map.replace(/.+/g, '# c')}a.1 = 1\n\n\n\nmcpServers = 1\n`],
    [parseJsonc, `{\n${map.replace(/.+/g, '// c')}\n\n\n"mcpServers": 1 }\n`],
  ]
  for (const [parse, text, line = 20_005] of rows) {
    try {
      edit(parse, text, [put(S)])
      t.fail(text.slice(-40))
    } catch (thrown) {
      t.ok(thrown instanceof EditError)
      t.match(thrown, { line }, text.slice(-40))
    }
  }
  t.end()
})
