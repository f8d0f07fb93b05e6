import t from 'tap'
import { openModernPipe } from '../../../../src/eras/modern/server-side/open.js'
import { rawText } from '../../../../src/kernel/json/text.js'
import { PipeCaller } from '../../../../src/rpc/channel/caller.js'
import { discovered } from '../../../support/era/codec.js'
import { FakeClock, settled } from '../../../support/fake-clock.js'
import { linkOptions } from '../../../support/proxy/links.js'
import { FarEnd } from '../../../support/wire/channel-pair.js'

/** The facts read from a server's own description. */
const factsOf = (text: string) => {
  const options = { ...linkOptions({ clock: new FakeClock() }), discovered: rawText(text) }
  return openModernPipe(listener => new PipeCaller(new FarEnd().channel, listener, options), options).facts
}

t.test('who a server is stands in its metadata, or where early ones said it', async t => {
  const key = 'io.modelcontextprotocol/serverInfo'
  const rows: [text: string, info: string][] = [
    [`{"capabilities":{},"_meta":{"${key}":{"name":"a"}}}`, '{"name":"a"}'],
    ['{"capabilities":{},"serverInfo":{"name":"b","version":"1.0"}}', '{"name":"b","version":"1.0"}'],
    [`{"serverInfo":{"name":"b"},"_meta":{"${key}":{"name":"a"}}}`, '{"name":"a"}'],
    ['{"capabilities":{}}', '{}'],
  ]
  for (const [text, info] of rows) t.equal(factsOf(text).info.toString(), info, text)
})

t.test('what a server cannot do is not made up, and its words for the model are kept', async t => {
  t.match(factsOf('{}'), {
    revision: '2026-07-28',
    capabilities: { tools: undefined, resources: undefined, logging: false, completions: false },
    instructions: undefined,
  })
  t.equal(factsOf('{"instructions":"be nice"}').instructions, 'be nice')
  t.same(factsOf('{"capabilities":{"resources":{"subscribe":true}}}').capabilities.resources, {
    listChanged: false,
    subscribe: true,
  })
})

t.test('messages that arrive before anyone listens do no harm', async t => {
  const server = new FarEnd()
  server.say({ id: 1, method: 'ping' })
  server.say({ method: 'notifications/tools/list_changed' })
  const heard: string[] = []
  const options = {
    ...linkOptions({
      clock: new FakeClock(),
      listener: {
        requested: () => heard.push('asked'),
        notified: method => heard.push(method),
        closed: () => heard.push('closed'),
      },
    }),
    discovered: discovered({ tools: { listChanged: true } }),
  }
  openModernPipe(listener => new PipeCaller(server.channel, listener, options), options)
  await settled()
  t.match(server.take(), [{ method: 'subscriptions/listen' }])
  server.hangUp()
  t.same(heard, ['closed'])
})
