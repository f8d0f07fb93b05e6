import t from 'tap'
import { LinkedList } from '../../src/kernel/linked-list.js'

t.test('items keep their order when others are removed', t => {
  const list = new LinkedList<string>()
  const links = ['a', 'b', 'c', 'd'].map(item => list.add(item))
  for (const at of [1, 0, 3]) {
    const link = links[at]
    t.equal(link && list.remove(link), true)
  }
  list.add('e')
  t.strictSame([...list], ['c', 'e'])
  t.equal(list.size, 2)
  t.end()
})

t.test('removing twice removes once', t => {
  const list = new LinkedList<string>()
  const first = list.add('first')
  list.add('second')
  t.equal(list.remove(first), true)
  t.equal(list.remove(first), false)
  t.strictSame([...list], ['second'])
  t.equal(list.size, 1)
  t.end()
})

t.test('things may go while the list is walked', t => {
  const list = new LinkedList<number>()
  const links = [1, 2, 3].map(item => list.add(item))
  const seen: number[] = []
  for (const item of list) {
    seen.push(item)
    for (const link of links) list.remove(link)
  }
  t.strictSame(seen, [1, 2, 3])
  t.strictSame([...list], [])
  t.end()
})
