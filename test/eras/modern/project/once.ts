import t from 'tap'
import { projectOnce } from '../../../../src/eras/modern/project/once.js'
import { textOf, valueOf } from '../../../../src/kernel/json/text.js'

t.test('a page of a list is projected once for all clients', t => {
  const page = textOf({ tools: [{ name: 'x', inputSchema: { type: 'object' }, execution: {} }] })
  const projected = projectOnce('tools/list', page)
  t.same(valueOf(projected), { tools: [{ name: 'x', inputSchema: { type: 'object' } }] })
  t.equal(projectOnce('tools/list', page), projected)
  const plain = textOf({ tools: [] })
  t.equal(projectOnce('tools/list', plain), plain)
  t.end()
})

t.test('what is no list is projected each time', t => {
  const result = textOf({ content: [{ type: 'strange' }] })
  const projected = projectOnce('tools/call', result)
  t.match(valueOf(projected), { content: [{ type: 'text' }] })
  t.not(projectOnce('tools/call', result), projected)
  t.end()
})
