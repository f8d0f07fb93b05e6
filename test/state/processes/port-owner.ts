import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import t from 'tap'
import { portOwner } from '../../../src/state/processes/port-owner.js'
import { skipWithout } from '../../support/processes.js'

t.test('the owner of a port is named, and a free port has none', { skip: skipWithout.proc }, async t => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.match(await portOwner(port), new RegExp(`^pid ${process.pid} \\(.+\\)$`))
  server.close()
  await once(server, 'close')
  t.equal(await portOwner(port), undefined)
})
