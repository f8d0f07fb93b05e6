import t from 'tap'
import { ToolSchemas } from '../../../../src/eras/modern/server-side/tool-schemas.js'
import { textOf } from '../../../../src/kernel/json/text.js'
import { silentLogger } from '../../../../src/kernel/logger.js'

const tool = (name: string, chars: number) => ({
  name,
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'string', 'x-mcp-header': 'A' } },
    description: 'x'.repeat(chars),
  },
})

t.test('of a server that makes up tools again and again only the last ones are remembered', async t => {
  const schemas = new ToolSchemas(silentLogger)
  const learn = (name: string, chars: number) => schemas.learn(textOf({ tools: [tool(name, chars)] }))
  for (const n of [1, 2, 3]) learn(`t${n}`, 6_000_000)
  t.equal(schemas.of('t1'), undefined)
  t.ok(schemas.of('t2') && schemas.of('t3'))
  learn('t2', 1)
  learn('t4', 6_000_000)
  t.ok(schemas.of('t2') && schemas.of('t3') && schemas.of('t4'), 'what is learnt anew takes no more room')
  learn('large', 17_000_000)
  t.equal(schemas.of('large'), undefined)
})
