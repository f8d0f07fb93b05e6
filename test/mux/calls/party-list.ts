import t from 'tap'
import { PartyList } from '../../../src/mux/calls/party-list.js'

const itemsOf = (names: string, party = 1) => [...names].map(name => ({ name, party }))

const namesOf = (list: Iterable<{ readonly name: string }>) => [...list].map(({ name }) => name).join('')

t.test('items keep their order when others are removed', t => {
  const list = new PartyList<{ name: string; party: number }>()
  const places = itemsOf('abcd').map(item => list.add(item))
  for (const at of [1, 0, 3]) {
    const place = places[at]
    t.equal(place && list.remove(place), true)
    t.equal(place && list.remove(place), false, 'removing twice removes once')
  }
  for (const item of itemsOf('e')) list.add(item)
  t.equal(namesOf(list), 'ce')
  t.match(list, { size: 2, first: { name: 'c' }, latest: { name: 'e' } })
  t.end()
})

t.test('items may be removed while the list is walked', t => {
  const list = new PartyList<{ name: string; party: number }>()
  const places = itemsOf('abc').map(item => list.add(item))
  let seen = ''
  for (const { name } of list) {
    seen += name
    for (const place of places) list.remove(place)
  }
  t.equal(seen, 'abc')
  t.match(list, { size: 0, first: undefined, latest: undefined, party: undefined })
  t.end()
})

t.test('the party of all items is known, in any order of removal', t => {
  const list = new PartyList<{ name: string; party: number }>()
  const [a, b, c] = [...itemsOf('a'), ...itemsOf('b', 2), ...itemsOf('c')].map(item => list.add(item))
  t.equal(list.party, 'several')
  if (b !== undefined) list.remove(b)
  t.equal(list.party, 1)
  if (a !== undefined) list.remove(a)
  if (c !== undefined) list.remove(c)
  t.equal(list.party, undefined)
  t.end()
})
