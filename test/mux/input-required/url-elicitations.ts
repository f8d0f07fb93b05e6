import t from 'tap'
import { rawText, textOf } from '../../../src/kernel/json/text.js'
import type { Client } from '../../../src/model/links.js'
import { UrlElicitations } from '../../../src/mux/input-required/url-elicitations.js'
import type { Connection } from '../../../src/peers/connection.js'
import { FakeClock } from '../../support/fake-clock.js'

const connection = { server: { name: 'a' }, share: { key: '' } } as Connection

t.test('a visit whose id is longer than any real one is not remembered', async t => {
  const told: string[] = []
  const client = {
    serverRequests: 'pushed',
    capabilities: { elicitation: { form: true, url: true } },
    info: rawText('{}'),
    notify: (method: string) => told.push(method),
  } as unknown as Client
  const visits = new UrlElicitations(new FakeClock())
  for (const elicitationId of ['x'.repeat(1025), 'x'.repeat(1024)]) {
    visits.shown(connection, client, elicitationId)
    visits.complete(connection, textOf({ elicitationId }))
  }
  t.equal(told.length, 1)
})
