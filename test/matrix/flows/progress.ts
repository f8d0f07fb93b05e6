import assert from 'node:assert/strict'
import { ALIAS, type Flow } from '../../support/matrix.js'

/**
 * A client hears every step of a call's progress once, in order, under its own token and before the answer.
 */
export const progress: Flow = {
  title: 'progress comes whole, in order and before the answer',
  run: async ({ client, wire }) => {
    const name = `${ALIAS}__progress`
    await client.callTool(name, { count: 50 }, { onprogress: () => undefined })
    const request = wire.lastCall(name)
    const { answer, before } = wire.answerTo(request)
    assert.equal(answer?.result.content[0].text, 'done')
    const told = before.filter(({ method }) => method === 'notifications/progress')
    assert.deepEqual(
      told.map(({ params }) => params),
      Array.from({ length: 50 }, (_, n) => ({
        progressToken: request?.params._meta.progressToken,
        progress: n + 1,
        total: 50,
      })),
    )
  },
}
