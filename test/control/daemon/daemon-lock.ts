import { writeFileSync } from 'node:fs'
import t from 'tap'
import { occupantOf, takeDaemonLock } from '../../../src/control/daemon/daemon-lock.js'
import { StartLock } from '../../../src/shim/lock.js'
import { httpAnswer, newPlace, standIn } from '../../support/proxy/place.js'

const status = (version: string, pid = 7): string => httpAnswer(200, JSON.stringify({ pid, version }))

t.test('a free lock is taken, also with a lock file held by our process', async t => {
  const place = newPlace(t)
  t.equal(await occupantOf(place), undefined)
  const lock = await takeDaemonLock({ place, isModest: true })
  t.ok(lock)
  t.equal((await takeDaemonLock({ place, isModest: true, key: lock?.key ?? '' }))?.key, lock?.key)
})

t.test('a daemon leaves a place to a proxy that is there and no older', async t => {
  const place = newPlace(t)
  await standIn(t, place, (_request, stream) => stream.end(status('99.0.0')))
  t.equal(await takeDaemonLock({ place, isModest: true }), undefined)
  t.ok(StartLock.take(place.lock), 'the lock is free again')
  t.equal(
    await takeDaemonLock({ place, isModest: true }),
    undefined,
    'nor does it wait for who has started it',
  )
})

t.test('an older proxy, or one in the way of a user, is asked to make room', async t => {
  for (const [version, isModest] of [
    ['0.0.1', true],
    ['99.0.0', false],
  ] as const) {
    const place = newPlace(t)
    const asked: string[] = []
    const server = await standIn(t, place, (request, stream) => {
      asked.push(request.split(' HTTP')[0] ?? '')
      stream.end(status(version))
      if (request.startsWith('POST')) server.close()
    })
    t.ok(await takeDaemonLock({ place, isModest }))
    t.same(asked.slice(0, 2), ['GET /v1/status', 'POST /v1/hand-over'])
  }
})

t.test('a replica leaves the place to any proxy, however old', async t => {
  const place = newPlace(t)
  const server = await standIn(t, place, (_request, stream) => stream.end(status('0.0.1')))
  t.equal(await takeDaemonLock({ place, isModest: false, isReplica: true }), undefined)
  t.equal(server.listening, true)
})

t.test('a foreign program keeps the socket, and is named', async t => {
  for (const answer of [httpAnswer(200, '{}'), httpAnswer(404, ''), httpAnswer(200, '[1]')]) {
    const place = newPlace(t)
    await standIn(t, place, (_request, stream) => stream.end(answer))
    await t.rejects(takeDaemonLock({ place, isModest: true }), {
      message: /the program at .* is not mcp-proxy/,
    })
    t.ok(StartLock.take(place.lock), 'the lock is free again')
  }
  const place = newPlace(t)
  writeFileSync(place.socket, '')
  t.equal(await occupantOf(place), undefined, 'a file is nobody')
})
