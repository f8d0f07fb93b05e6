import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A client hears the log messages of the level it wants and above, named after the server, which is told the
 * level too.
 */
export const logLevel: Flow = {
  title: 'log messages come from the wanted level on',
  run: async ({ client, wire, call }) => {
    await client.setLevel('warning')
    assert.equal(await call('level'), 'warning', 'the server is told')
    await call('log', { levels: ['debug', 'error', 'info', 'warning'] })
    const heard = wire.heard.filter(({ method }) => method === 'notifications/message')
    assert.deepEqual(
      heard.map(({ params }) => params),
      ['error', 'warning'].map(level => ({ level, logger: `${ALIAS}/own`, data: { level } })),
    )
  },
}
