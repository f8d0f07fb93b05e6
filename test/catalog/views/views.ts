import t from 'tap'
import { View, type ViewRules } from '../../../src/catalog/views/view.js'
import { unknownView, Views } from '../../../src/catalog/views/views.js'
import { unauthenticatedCaller } from '../../../src/kernel/caller.js'
import { rawText } from '../../../src/kernel/json/text.js'
import type { Router } from '../../../src/mux/router.js'
import { FakeClient } from '../../support/client/fake-client.js'

/** No client of these tests makes requests. */
const ROUTER = {} as Router

const rules = (name: string, more: Partial<ViewRules> = {}): ViewRules => ({
  name,
  servers: undefined,
  tags: undefined,
  tools: { allow: undefined, deny: [] },
  annotations: {},
  resources: true,
  prompts: true,
  scopes: [],
  ...more,
})

t.test('a server is in a view that names it, by its name or by a tag', t => {
  const has = (more: Partial<ViewRules>, name: string, tags: readonly string[] = []): boolean =>
    new View(rules('v', more)).hasServer({ name, tags })
  t.ok(has({}, 'any'))
  t.ok(has({ servers: ['fig*'] }, 'figma'))
  t.notOk(has({ servers: ['fig*'] }, 'github'))
  t.ok(has({ servers: ['fig*'], tags: ['web'] }, 'github', ['web']))
  t.notOk(has({ tags: ['web'] }, 'github', ['Web', 'web2']))
  t.notOk(has({ servers: [] }, 'github'))
  t.end()
})

t.test('a view by annotations contains tools that declare them without contradiction', t => {
  const view = new View(rules('v', { annotations: { readOnlyHint: true } }))
  const has = (annotations: string): boolean =>
    view.hasTool({ exposed: 'x', text: rawText(`{"name":"x",${annotations}}`) })
  t.ok(has('"annotations":{"readOnlyHint":true,"title":"X"}'))
  t.notOk(has('"title":"x"'))
  t.notOk(has('"annotations":{"readOnlyHint":"true"}'))
  t.notOk(has('"annotations":{"readOnlyHint":true,"readOnlyHint":false}'))
  t.notOk(has('"annotations":{"readOnlyHint":true},"annotations":{"readOnlyHint":false}'))
  t.end()
})

t.test('a view is open to callers with all of its scopes', t => {
  const view = new View(rules('v', { scopes: ['a', 'b'] }))
  const caller = (scopes: readonly string[]) => ({ ...unauthenticatedCaller('p'), scopes: new Set(scopes) })
  t.ok(view.isOpenTo(unauthenticatedCaller('p')))
  t.ok(view.isOpenTo(caller(['a', 'b', 'c'])))
  t.notOk(view.isOpenTo(caller(['a'])))
  t.end()
})

t.test('a client keeps the name of its view across reloads', t => {
  const views = new Views({ views: [rules('a')], clients: [{ name: 'fake*', view: 'a' }] })
  const client = new FakeClient(ROUTER)
  const name = views.nameFor(client)
  views.reload({ views: [rules('b')], clients: [{ name: '*', view: 'b' }] })
  t.equal(views.nameFor(client), name)
  t.equal(views.nameFor(new FakeClient(ROUTER)), 'b')
  t.end()
})

t.test('a view stays the same as long as its rules do', t => {
  const views = new Views({ views: [rules('a'), rules('b')], clients: [] })
  const [a, b] = [views.named('a'), views.named('b')]
  views.reload({ views: [rules('a'), rules('b', { prompts: false })], clients: [] })
  t.equal(views.named('a'), a)
  t.not(views.named('b'), b)
  t.end()
})

t.test('views that a caller may not request are not named', t => {
  const views = new Views({ views: [rules('a'), rules('')], clients: [] })
  t.strictSame(views.names, ['a'])
  t.notOk(views.has(''))
  t.ok(views.has('default'))
  t.match(unknownView('x'.repeat(100), views.names), /^there is no view x{64}; there are: default, a$/)
  t.end()
})
