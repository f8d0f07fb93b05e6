import t from 'tap'
import { isOfSdk } from '../../src/wire/sdk-client-hint.js'

interface Connectable {
  connect(transport: object): Promise<void>
}

/** The first message of a client that is connected to nobody. */
const firstOf = async (client: Connectable): Promise<Buffer> => {
  let first: object = {}
  const transport = {
    start: async () => undefined,
    send: async (message: object) => {
      first = message
      throw new Error('nobody is there')
    },
    close: async () => undefined,
  }
  await client.connect(transport).catch(() => undefined)
  return Buffer.from(JSON.stringify(first))
}

t.test('clients of every SDK are known by what they write', async t => {
  const packages = [
    import('sdk-1.0.4/client/index.js'),
    import('sdk-1.7.0/client/index.js'),
    import('sdk-1.11.4/client/index.js'),
    import('sdk-1.13.3/client/index.js'),
    import('sdk-1.20.2/client/index.js'),
    import('sdk-1.25.3/client/index.js'),
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/client'),
  ]
  for (const { Client } of await Promise.all(packages)) {
    const Any = Client as unknown as new (info: object, options: object) => Connectable
    const first = await firstOf(new Any({ name: 'test', version: '1' }, { capabilities: {} }))
    t.match(JSON.parse(first.toString()), { jsonrpc: '2.0', method: String })
    t.ok(isOfSdk(first), first.toString())
  }
})

t.test('what others write is not taken for it', async t => {
  const rows = [
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"method"',
    '{"methods":1}',
    '[{"method":"ping"}]',
    '',
  ]
  for (const text of rows) t.notOk(isOfSdk(Buffer.from(text)), text)
})
