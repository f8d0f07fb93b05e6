import t from 'tap'
import type { Item, MergePart } from '../../../src/catalog/listed.js'
import { mergeParts } from '../../../src/catalog/lists/merge.js'
import { textOf } from '../../../src/kernel/json/text.js'
import type { Server } from '../../../src/peers/server.js'
import { recordedLog } from '../../support/wire/channel-pair.js'

const part = (
  index: number,
  alias: string,
  items: readonly (readonly [own: string, exposed: string])[],
): MergePart => {
  const server = { name: alias, options: { alias } } as Server
  return {
    index,
    alias,
    items: items.map(
      ([own, exposed]): Item => ({
        server,
        own,
        exposed,
        text: textOf({ name: exposed }),
        hasOutputSchema: false,
      }),
    ),
  }
}

const shown = (parts: readonly MergePart[]): string[] =>
  parts.flatMap(({ items }) => items.map(({ exposed }) => exposed))

t.test(
  'names that meet: the later one gets its prefix, the operator is told, and each is routed to its owner',
  async t => {
    const { log, lines } = recordedLog()
    const merged = mergeParts(
      'tools',
      [
        part(0, 'a', [['x', 'x']]),
        part(1, 'b', [
          ['x', 'x'],
          ['theirs', 'x'],
          ['y', 'y'],
        ]),
        part(2, 'c', [['x', 'x']]),
      ],
      log,
    )
    t.same(shown(merged.parts), ['x', 'b__x', 'y', 'c__x'], 'a third of the same server has no name left')
    t.same(
      ['x', 'b__x', 'c__x', 'y'].map(name => merged.byExposed.get(name)?.server.name),
      ['a', 'b', 'c', 'b'],
    )
    t.equal(merged.byExposed.get('b__x')?.text.toString(), '{"name":"b__x"}')
    t.match(
      lines.map(([level, , words]) => [level, words]),
      [
        ['warn', /shown with its prefix/],
        ['warn', /left out/],
        ['warn', /shown with its prefix/],
      ],
    )
  },
)

t.test('a tool that was renamed is moved aside under its new name', async t => {
  const { log } = recordedLog()
  const merged = mergeParts('tools', [part(0, 'a', [['x', 'x']]), part(1, 'b', [['old', 'x']])], log)
  t.same(shown(merged.parts), ['x', 'b__x'])
})

t.test('a name under the prefix of another server is that server’s, whether it has it or not', async t => {
  for (const theirs of [[], [['pay', 'bank__pay']]] as const) {
    for (const isFirst of [true, false]) {
      const { log, lines } = recordedLog()
      const unprefixed = part(isFirst ? 0 : 2, 'x', [
        ['bank__pay', 'bank__pay'],
        ['bank__', 'bank__'],
        ['x__own', 'x__own'],
        ['banks__pay', 'banks__pay'],
        ['__pay', '__pay'],
      ])
      const bank = part(1, 'bank', theirs)
      const { byExposed } = mergeParts('tools', isFirst ? [unprefixed, bank] : [bank, unprefixed], log)
      t.equal(byExposed.get('bank__pay')?.server.name, theirs.length > 0 ? 'bank' : undefined)
      t.same(
        [...byExposed.values()].filter(({ server }) => server.name === 'x').map(({ exposed }) => exposed),
        ['x__bank__pay', 'x__bank__', 'x__own', 'banks__pay', '__pay'],
      )
      t.equal(lines.length, 2)
    }
  }
})

t.test('one URI of several servers is listed by each', async t => {
  const { log, lines } = recordedLog()
  const merged = mergeParts(
    'resources',
    [part(0, 'a', [['f:1', 'f:1']]), part(1, 'b', [['f:1', 'f:1']])],
    log,
  )
  t.same(shown(merged.parts), ['f:1', 'f:1'])
  t.same(lines, [])
})
