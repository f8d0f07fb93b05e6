import { rmSync } from 'node:fs'
import t, { type Test } from 'tap'
import { startSelfCheck } from '../../../src/control/daemon/self-check.js'
import { silentLogger } from '../../../src/kernel/logger.js'
import type { RuntimePaths } from '../../../src/shim/place.js'
import { FakeClock } from '../../support/fake-clock.js'
import { until } from '../../support/processes.js'
import { httpAnswer, newPlace, standIn } from '../../support/proxy/place.js'

/** A proxy at a place, as far as it says who it is; `asked` counts how often it did. */
const occupy = async (t: Test, place: RuntimePaths, pid: number) => {
  let asked = 0
  await standIn(t, place, (_request, stream) => {
    asked += 1
    stream.end(httpAnswer(200, JSON.stringify({ pid, version: '1.0.0' })))
  })
  return { asked: () => asked }
}

t.test(
  'a proxy asks at its place who is there until it has found itself, and when the socket is another',
  async t => {
    const place = newPlace(t)
    const clock = new FakeClock()
    const ends: number[] = []
    const { asked } = await occupy(t, place, process.pid)
    const handOver = () => t.fail('nobody is to be started')
    const options = { mayStay: false, end: (code: number) => void ends.push(code), handOver }
    const watch = startSelfCheck(place, { ...options, clock, log: silentLogger })
    t.teardown(() => watch.cancel())
    clock.advance(250)
    let before = 0
    await until(() => {
      const isQuiet = before > 0 && asked() === before
      before = asked()
      clock.advance(5000)
      return isQuiet
    }, 'a look that asks nobody')
    for (let look = 0; look < 10; look += 1) clock.advance(5000)
    await new Promise(resolve => setImmediate(resolve))
    t.equal(asked(), before, 'it has found itself, and asks no more')
    rmSync(place.socket)
    const other = await occupy(t, place, 1)
    clock.advance(5000)
    await until(() => ends.length > 0, 'its end')
    t.same([ends, other.asked()], [[0], 1])
  },
)
