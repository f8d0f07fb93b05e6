import t from 'tap'
import { writeDiscover } from '../../../src/eras/modern/discover.js'
import { rawText } from '../../../src/kernel/json-text.js'
import { discoverHints } from '../../../src/model/cache-hints.js'
import type { Welcome } from '../../../src/model/links.js'
import { sdkOnPipe } from '../../support/modern-sdk.js'

const IDENTITY = rawText('{"name":"proxy","version":"1"}')

const FULL: Welcome = {
  capabilities: {
    tools: true,
    prompts: true,
    resources: { subscribe: true },
    completions: true,
    logging: true,
  },
  instructions: undefined,
  isComplete: true,
}

const EMPTY: Welcome = {
  capabilities: { tools: false, prompts: false, resources: undefined, completions: false, logging: false },
  instructions: undefined,
  isComplete: true,
}

t.test(
  'the proxy introduces itself with what its servers can do, its own name and no older version',
  async t => {
    t.equal(
      writeDiscover(FULL, IDENTITY, discoverHints(false)).toString(),
      '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}},"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy","version":"1"}}}',
    )
  },
)

t.test('what no server can do is not announced, and instructions are there if anybody has some', async t => {
  t.equal(
    writeDiscover({ ...EMPTY, instructions: 'a "b"' }, IDENTITY, discoverHints(true)).toString(),
    '{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"a \\"b\\"","resultType":"complete","ttlMs":60000,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"proxy","version":"1"}}}',
  )
  const half = { ...EMPTY.capabilities, resources: { subscribe: false } }
  t.match(
    writeDiscover({ ...EMPTY, capabilities: half }, IDENTITY, discoverHints(true)).toString(),
    '"capabilities":{"resources":{"listChanged":true}}',
  )
})

t.test('the official client connects with it', async t => {
  const text = writeDiscover({ ...FULL, instructions: 'read me' }, IDENTITY, discoverHints(true)).toString()
  const { client } = await sdkOnPipe(() => text)
  t.same(client.getServerVersion(), { name: 'proxy', version: '1' })
  t.equal(client.getInstructions(), 'read me')
  t.same(client.getServerCapabilities(), {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    completions: {},
    logging: {},
  })
  await client.close()
})
