import t from 'tap'
import { textOf } from '../../../src/kernel/json/text.js'
import { readExtensions } from '../../../src/model/extensions.js'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../../src/model/peer.js'
import { World } from '../../support/proxy/router.js'
import { tool } from '../../support/values.js'

const ui = (more: object): object => ({ _meta: { ui: more } })
const APPS: ClientCapabilities = {
  ...NO_CAPABILITIES,
  declared: {
    extensions: readExtensions(textOf({ extensions: { 'io.modelcontextprotocol/ui': {} } })),
    experimental: undefined,
    others: [],
    revision: '2025-11-25',
    withheld: [],
  },
}

const start = () =>
  new World({
    alpha: {
      tools: [
        tool('show', ui({ resourceUri: 'ui://show/app.html' })),
        tool('refresh', ui({ visibility: ['app'] })),
        tool('save'),
        tool('think', ui({ visibility: ['model'] })),
      ],
    },
    beta: { tools: [tool('save'), tool('board', { _meta: { 'ui/resourceUri': 'ui://b' } })] },
    gamma: { tools: [tool('plain')] },
  })

t.test('clients that show apps get the tools of apps under their own names, at the end', async t => {
  const world = start()
  t.teardown(() => world.router.close())
  const apps = await world.client({ capabilities: APPS })
  t.same(await apps.list('tools/list'), [
    'alpha__show',
    'alpha__refresh',
    'alpha__save',
    'alpha__think',
    'beta__save',
    'beta__board',
    'gamma__plain',
    'show',
    'refresh',
    'board',
  ])
  const listed = JSON.stringify(await apps.get('tools/list'))
  t.match(
    listed,
    '{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://alpha+show/app.html","visibility":["app"]}}}',
  )
  const plain = await world.client()
  t.same(await plain.list('tools/list'), [
    'alpha__show',
    'alpha__save',
    'alpha__think',
    'beta__save',
    'beta__board',
    'gamma__plain',
  ])
})

t.test('a tool is called by its own name if only one server has it for apps', async t => {
  const world = start()
  t.teardown(() => world.router.close())
  const client = await world.client()
  await client.list('tools/list')
  client.call('tools/call', { name: 'refresh' })
  await world.pass(1)
  t.match(world.server('alpha').last('tools/call').params, { name: 'refresh' })
  t.match(await client.get('tools/call', { name: 'save' }), {
    code: -32602,
    message: 'Several servers have the tool save; name one of: alpha__save, beta__save',
    data: { tool: 'save' },
  })
  client.call('tools/call', { name: 'alpha__show' })
  client.call('tools/call', { name: 'save' })
  await world.pass(1)
  t.match(world.server('alpha').last('tools/call').params, { name: 'save' }, 'the app that is open')
  t.match(await client.get('tools/call', { name: 'think' }), { message: 'Unknown tool: think' })
})
