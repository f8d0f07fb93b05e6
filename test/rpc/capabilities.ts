import t from 'tap'
import { rawText } from '../../src/kernel/json/text.js'
import { announcedIn } from '../../src/rpc/capabilities.js'

const read = (capabilities: string) =>
  announcedIn(rawText(`{"capabilities":${capabilities},"serverInfo":{"name":"s","version":"1"}}`))
    .capabilities

t.test('capabilities of the wrong type are read as they were meant', t => {
  for (const yes of ['{}', 'true', '[]', '1', '"yes"', '{"listChanged":0}']) {
    t.match(
      read(`{"tools":${yes},"logging":${yes},"completions":${yes}}`),
      { tools: { listChanged: false }, logging: true, completions: true },
      yes,
    )
  }
  for (const no of ['null', 'false', '0', '""', '"false"', '"no"'])
    t.match(read(`{"tools":${no},"logging":${no}}`), { tools: undefined, logging: false }, no)
  for (const flag of ['true', '"true"', '1'])
    t.match(read(`{"resources":{"listChanged":${flag},"subscribe":${flag}}}`), {
      resources: { listChanged: true, subscribe: true },
    })
  t.match(read('["tools","prompts"]'), { tools: { listChanged: false }, prompts: {}, resources: undefined })
  for (const none of ['null', '[]', '"tools"', '5']) t.match(read(none), { tools: undefined, logging: false })
  t.end()
})
