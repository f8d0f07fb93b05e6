import t from 'tap'
import { writeDiscover } from '../../../../src/eras/modern/client-side/discover.js'
import type { Welcome } from '../../../../src/model/links.js'

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

t.test('the proxy introduces itself with what its servers can do, and no older version', async t => {
  t.equal(
    writeDiscover(FULL).toString(),
    '{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}}',
  )
})

t.test('what no server can do is not announced, and instructions are there if anybody has some', async t => {
  t.equal(
    writeDiscover({ ...EMPTY, instructions: 'a "b"' }).toString(),
    '{"supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"a \\"b\\""}',
  )
  const half = { ...EMPTY.capabilities, resources: { subscribe: false } }
  t.match(
    writeDiscover({ ...EMPTY, capabilities: half }).toString(),
    '"capabilities":{"resources":{"listChanged":true}}',
  )
})
