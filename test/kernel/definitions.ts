import t from 'tap'
import {
  changedMembers,
  LockedPart,
  NOTHING_SENT,
  type SentServer,
  shownDifference,
} from '../../src/kernel/definitions.js'
import { type JsonText, rawText, textOf } from '../../src/kernel/json/text.js'
import { treeOf } from '../../src/kernel/json/tree.js'
import { type LockedServer, NOTHING_LOCKED } from '../../src/kernel/lock-file.js'

const text = (value: object | string): JsonText =>
  typeof value === 'string' ? rawText(value) : textOf(value)

/** Returns the members in which a tool differs from its locked variants. */
const differs = (is: object | string, variants: readonly (object | string)[], ignore: string[][] = []) => {
  const locked = variants.map(each => treeOf(text(each)))
  const server = { ...NOTHING_LOCKED, tools: new Map([['a', locked]]) }
  const found = new LockedPart('shop', server, ignore).item('tools', 'a', text(is))
  return found && changedMembers(found)
}

t.test('definitions that mean the same are equal, and others name their members', async t => {
  const tool = {
    name: 'a',
    description: 'd',
    inputSchema: { type: 'object', properties: { x: { type: 'string' } } },
  }
  const { name, description, inputSchema } = tool
  const rows: readonly (readonly [string, Parameters<typeof differs>, readonly string[] | undefined])[] = [
    ['the same', [tool, [tool]], undefined],
    ['another order', [{ inputSchema, description, name }, [tool]], undefined],
    ['another spelling', ['{"name":"\\u0061","n":1.0}', ['{"n":1,"name":"a"}']], undefined],
    ['hidden members of _meta', [{ ...tool, _meta: { x: 1 } }, [tool]], undefined],
    ['an interface', [{ ...tool, _meta: { 'ui/resourceUri': 'ui://x' } }, [tool]], ['_meta']],
    ['an interface of OpenAI', [{ ...tool, _meta: { 'openai/x': 1 } }, [tool]], ['_meta']],
    ['the defaults of annotations', [{ ...tool, annotations: { readOnlyHint: false } }, [tool]], undefined],
    ['no annotations', [{ ...tool, annotations: {} }, [tool]], undefined],
    ['an annotation', [{ ...tool, annotations: { readOnlyHint: true } }, [tool]], ['annotations']],
    [
      'a tool that only reads and says that it destroys',
      [
        { ...tool, annotations: { readOnlyHint: true } },
        [{ ...tool, annotations: { readOnlyHint: true, destructiveHint: true } }],
      ],
      ['annotations'],
    ],
    ['a hidden character', [{ ...tool, description: 'd\u200b' }, [tool]], ['description']],
    [
      'a repeated member',
      ['{"name":"a","description":"d","description":"e"}', ['{"name":"a","description":"d"}']],
      ['description'],
    ],
    ['a number beyond doubles', ['{"n":1.00000000000000000001}', ['{"n":1}']], ['n']],
    ['one of two variants', [tool, [{ ...tool, title: 'x' }, tool]], undefined],
    [
      'the nearest variant',
      [
        tool,
        [
          { name, title: 'x', icons: [] },
          { ...tool, description: 'e' },
        ],
      ],
      ['description'],
    ],
    [
      'an ignored part',
      [tool, [{ ...tool, description: 'e' }], [['servers', '*', 'tools', 'a', 'description']]],
      undefined,
    ],
    [
      'another ignored part',
      [tool, [{ ...tool, description: 'e' }], [['servers', '*', 'tools', 'b', 'description']]],
      ['description'],
    ],
    ['an ignored tool', [tool, [{ name }], [['servers', 'shop', 'tools', '*']]], undefined],
    ['an ignored server', [tool, [{ name }], [['servers', 'shop']]], undefined],
  ]
  for (const [what, args, expected] of rows) t.same(differs(...args), expected, what)
})

t.test('a server is compared as a whole, and locked without the ignored parts', async t => {
  const sent: SentServer = {
    ...NOTHING_SENT,
    instructions: 'new',
    tools: new Map([['b', text({ name: 'b', description: '`x`\u202e' })]]),
  }
  const locked: LockedServer = {
    ...NOTHING_LOCKED,
    instructions: 'old',
    tools: new Map([
      ['a', [treeOf(text({ name: 'a' }))]],
      ['b', [treeOf(text({ name: 'b', description: 'y' }))]],
    ]),
  }
  t.same(new LockedPart('shop', locked).all(sent).map(shownDifference), [
    {
      server: 'shop',
      kind: 'instructions',
      name: '',
      change: 'changed',
      fields: [{ path: '', was: 'old', is: 'new' }],
    },
    { server: 'shop', kind: 'tool', name: 'a', change: 'removed', fields: [] },
    {
      ...{ server: 'shop', kind: 'tool', name: 'b', change: 'changed' },
      fields: [{ path: '/description', was: 'y', is: '\\u0060x\\u0060\\u202e' }],
    },
  ])
  const ignore = [
    ['servers', '*', 'instructions'],
    ['servers', '*', 'tools', '*', 'description'],
  ]
  const written = new LockedPart('shop', undefined, ignore).next(sent)
  t.equal(written.instructions, undefined)
  t.same([...written.tools], [['b', [treeOf(text({ name: 'b' }))]]])
  t.same(new LockedPart('shop', written, ignore).all(sent), [])
  const long = new LockedPart('shop', locked).all({ ...sent, instructions: 'x'.repeat(2000) })
  t.equal(long.map(shownDifference)[0]?.fields[0]?.is?.length, 1000)
})

t.test('variants that people wrote stay when one of them is equal', async t => {
  const item = text({ name: 'a' })
  const variants = [treeOf(text({ name: 'a', title: 'x' })), treeOf(item)]
  const sent = { ...NOTHING_SENT, tools: new Map([['a', item]]) }
  const before = { ...NOTHING_LOCKED, tools: new Map([['a', variants]]) }
  const part = new LockedPart('shop', before)
  t.same(part.next(sent).tools.get('a'), variants)
  const other = { ...NOTHING_SENT, tools: new Map([['a', text({ name: 'a', title: 'y' })]]) }
  t.equal(part.next(other).tools.get('a')?.length, 1)
})
