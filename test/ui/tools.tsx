import { render } from 'preact-render-to-string'
import t from 'tap'
import { accessOfTool } from '../../src/ui/tools/access.js'
import { emptyDraft, fieldKindOf, readDraft, type Schema } from '../../src/ui/tools/drafts.js'
import { Field, ObjectFields } from '../../src/ui/tools/fields.js'
import { searchIn } from '../../src/ui/tools/list.js'
import { Result, textOfBlock } from '../../src/ui/tools/result.js'
import { SwitchList } from '../../src/ui/tools/switches.js'
import { hintsOf, Tool } from '../../src/ui/tools/tool.js'
import { progressText, TryForm } from '../../src/ui/tools/try-form.js'

const SCHEMA: Schema = {
  type: 'object',
  required: ['q', 'n', 'tags'],
  properties: {
    q: { type: 'string', description: 'What to look for' },
    n: { type: 'integer', default: 5 },
    deep: { type: 'boolean' },
    sort: { enum: ['up', 'down'] },
    tags: { type: 'array', items: { type: 'string' } },
    where: { type: 'object', properties: { repo: { type: 'string' } } },
    any: {},
  },
}

t.test('what is typed becomes the value that the schema asks for', async t => {
  const empty = emptyDraft(SCHEMA)
  t.same(readDraft(SCHEMA, empty), { problem: 'q is required' }, 'an empty text is not sent')
  t.same(
    readDraft(SCHEMA, { ...(empty as object), q: 'x' }),
    { value: { q: 'x', n: 5, tags: [] } },
    'what is not typed is left out',
  )
  const draft = {
    q: 'x',
    n: '7',
    deep: 'false',
    sort: 'up',
    tags: ['a', 'b'],
    where: { repo: 'r' },
    any: '[1]',
  }
  t.same(readDraft(SCHEMA, draft), {
    value: { q: 'x', n: 7, deep: false, sort: 'up', tags: ['a', 'b'], where: { repo: 'r' }, any: [1] },
  })
  t.same(readDraft(SCHEMA, { ...draft, n: 'seven' }), { problem: 'n must be a number' })
  t.same(readDraft(SCHEMA, { ...draft, n: '' }), { problem: 'n is required' })
  t.same(readDraft(SCHEMA, { ...draft, any: '{' }), { problem: 'any must be JSON' })
  const nested: Schema = { type: 'object', properties: { a: { type: 'array', items: { type: 'number' } } } }
  t.same(readDraft(nested, { a: ['1', 'x'] }), { problem: 'a[1] must be a number' })
})

t.test('the hint of a field is tied to it by an id without spaces', async t => {
  const schema = { type: 'object', properties: { 'two words': { type: 'string', description: 'A hint' } } }
  const html = render(<TryForm name="a__x" schema={schema} isReadOnly />)
  t.match(html, /id="try\.0".*aria-describedby="try\.0-hint".*id="try\.0-hint">A hint/s)
})

t.test('a hostile schema makes a form that is harmless', async t => {
  const endless: { type: string; properties: Record<string, unknown> } = { type: 'object', properties: {} }
  endless.properties['a'] = endless
  t.ok(
    render(
      <ObjectFields
        id="x"
        schema={endless}
        draft={emptyDraft(endless)}
        depth={0}
        onDraft={() => undefined}
      />,
    ),
  )
  const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`p${n}`, { type: 'string' }]))
  t.equal(fieldKindOf({ type: 'object', properties: wide }), 'json')
  const proto = JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  )
  t.same(
    Object.getOwnPropertyNames(
      (readDraft(proto, JSON.parse('{"__proto__":"x"}')) as { value: object }).value,
    ),
    ['__proto__'],
  )
  for (const odd of [{ type: ['string'] }, { type: 'array' }, { enum: [1, {}] }, { properties: 7 }])
    t.equal(fieldKindOf(odd), 'json')
})

t.test('each kind of value has its field, with a label and the server’s description', async t => {
  const html = render(<TryForm name="a__x" schema={SCHEMA} isReadOnly={false} />)
  for (const name of ['q', 'n', 'deep', 'sort', 'any'])
    t.match(html, new RegExp(`<label for="(try\\.\\d)">${name}[^]*id="\\1"`))
  t.match(html, /id="try\.0-hint">What to look for/)
  t.match(html, /<legend>tags<\/legend>/)
  t.match(html, /<option value="down">/)
  t.match(html, /may modify data/)
  t.match(render(<TryForm name="a" schema={{}} isReadOnly />), /No arguments/)
  const items = { type: 'array', items: { type: 'string' } }
  const list = (
    <Field id="l" label="tags" schema={items} draft={['a']} isNeeded depth={1} onDraft={() => undefined} />
  )
  t.match(render(list), /aria-label="Remove tags 1"/)
})

t.test('results are text, with any content', async t => {
  const markup = '<img src=x onerror=alert(1)><script>alert(1)</script>'
  const answer = { result: { content: [{ type: 'text', text: markup }], structuredContent: { a: markup } } }
  const html = render(<Result answer={answer} tookMs={3} />)
  t.notMatch(html, /<img|<script/)
  t.match(html, /&lt;script/)
  t.match(
    render(<Result answer={{ result: { isError: true, content: [] } }} tookMs={1} />),
    /reported an error/,
  )
  t.match(render(<Result answer={{ result: 7 }} tookMs={1} />), /No content/)
  const error = { code: -32603, message: 'no', data: { errorId: 'abcd-1' } }
  t.match(render(<Result answer={{ error }} tookMs={1} />), /error -32603.*href="#\/errors\/abcd-1"/s)
  const long = render(
    <Result answer={{ result: { content: [{ type: 'text', text: 'x'.repeat(1 << 20) }] } }} tookMs={1} />,
  )
  t.ok(long.length < 5000, 'a line of 1 MiB is cut')
  t.match(long, /show more \(1022 KiB left\)/)
  const many = { result: { content: Array.from({ length: 70 }, () => 5) } }
  t.match(render(<Result answer={many} tookMs={1} />), /and 20 more blocks/)
  t.equal(textOfBlock({ type: 'image', mimeType: 'image/png', data: 'AAAA' }), 'image, image/png, 3 B')
})

t.test('progress and hints are said in words', async t => {
  t.equal(progressText({ progress: 1, total: 4, message: 'reading' }), '1 of 4: reading')
  t.equal(progressText({ progress: 2 }), '2')
  t.equal(progressText(7), '')
  t.same(hintsOf({ readOnlyHint: true, destructiveHint: false, title: 'x' }), [
    'read-only',
    'not destructive',
  ])
  t.same(hintsOf(undefined), [])
  t.match(render(<Tool name="a<b" />), /a&lt;b/)
})

t.test('ten thousand tools are searched while one types', async t => {
  const tools = Array.from({ length: 10_000 }, (_, n) => ({
    ...{ name: `s__tool_${n}`, own: `tool_${n}`, server: 's', title: undefined, annotations: undefined },
    ...{
      description: `Does thing ${n}`,
      bytes: 100,
      tokens: 25,
      calls: 0,
      errors: 0,
      p50Ms: undefined,
      p99Ms: undefined,
    },
  }))
  const search = searchIn(tools)
  t.equal(search('').length, 10_000)
  t.same(
    search('THING s__ 9999').map(({ own }) => own),
    ['tool_9999'],
  )
  t.equal(search('nothing such').length, 0)
})

t.test('annotations say what a tool does, and select tools with their server', async t => {
  const rows: readonly (readonly [annotations: object | undefined, access: string])[] = [
    [{ readOnlyHint: true }, 'read'],
    [{ readOnlyHint: true, destructiveHint: true }, 'read'],
    [{ readOnlyHint: false }, 'write'],
    [{ destructiveHint: false }, 'write'],
    [{ readOnlyHint: false, destructiveHint: true }, 'destructive'],
    [{ readOnlyHint: 'yes' }, 'unmarked'],
    [undefined, 'unmarked'],
  ]
  for (const [annotations, access] of rows)
    t.equal(accessOfTool(annotations), access, JSON.stringify(annotations))
  const tools = rows.map(([annotations], n) => ({
    ...{ name: `s${n % 2}__t${n}`, own: `t${n}`, server: `s${n % 2}`, title: undefined, description: 'x' },
    ...{ annotations, bytes: 100, tokens: 25, calls: 0, errors: 0, p50Ms: undefined, p99Ms: undefined },
  }))
  const found = (query: string) => searchIn(tools)(query).map(({ own }) => own)
  t.same(found('is:write'), ['t2', 't3'])
  t.same(found('is:write server:s0'), ['t2'])
  t.same(found('is:read is:destructive'), ['t0', 't1', 't4'])
})

t.test('each tool of a server has a labelled switch, or the reason why it has none', async t => {
  const row = { own: 'echo', name: 'gh__echo', isEnabled: true, why: undefined }
  const fixed = { own: '<b>x', name: 'gh__bx', isEnabled: false, why: 'the pattern "*x" hides it' }
  const shown = (tools: readonly (typeof row | typeof fixed)[], canSwitch = true, why = '') =>
    render(
      <SwitchList view={{ version: 1, canSwitch, tools: [...tools] }} why={why} onSwitch={() => undefined} />,
    )
  const html = shown([row, { ...row, own: 'facts', isEnabled: false }, fixed], true, 'no such tool')
  t.match(
    html,
    /<input id="switch\.0" type="checkbox" role="switch" checked\/?><label[^>]*for="switch\.0">echo</,
  )
  t.match(html, /<input id="switch\.1" type="checkbox" role="switch"\/?><label[^>]*>facts</)
  t.match(
    html,
    /id="switch\.2"[^>]* disabled aria-describedby="switch\.2-why".*&lt;b>x.*id="switch\.2-why">the pattern.*href="#\/tools\/gh__bx"/s,
  )
  t.match(html, /role="status">no such tool</)
  t.equal(shown([row], false), '', 'no switches without a configuration file')
  t.equal(shown([]), '')
  const long = Array.from({ length: 130 }, (_, n) => ({ ...row, own: `t${n}` }))
  t.match(shown(long), /Show 30 more/)
})
