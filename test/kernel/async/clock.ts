import { MessageChannel } from 'node:worker_threads'
import t from 'tap'
import { systemClock } from '../../../src/kernel/async/clock.js'

/** Holds up everything in this process, as when it is stopped. */
const standStill = (ms: number): void => {
  const endMs = performance.now() + ms
  while (performance.now() < endMs);
}

t.test('after a standstill, messages that arrived meanwhile are read before timers fire', async t => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const order: string[] = []
  const done = new Promise<void>(resolve => {
    systemClock.after(10, () => {
      order.push('the time is up')
      resolve()
    })
  })
  const read = new Promise<void>(resolve => {
    port2.on('message', () => {
      order.push('a message')
      resolve()
    })
  })
  port1.postMessage('written before')
  standStill(1100)
  await Promise.all([done, read])
  t.same(order, ['a message', 'the time is up'])
})

t.test('a timer that is called off does nothing, also while it waits to be run late', async t => {
  const ran: string[] = []
  const timers = [systemClock.after(5, () => ran.push('once')), systemClock.every(5, () => ran.push('again'))]
  standStill(1100)
  const calledOff = new Promise<void>(resolve => {
    // Node runs this after the two, which have put off their work.
    setTimeout(() => {
      for (const timer of timers) timer.cancel()
      resolve()
    }, 6)
    standStill(10)
  })
  await calledOff
  await new Promise(resolve => setImmediate(resolve))
  t.same(ran, [])
})

t.test('a timer beyond the maximum delay never fires', t => {
  let ran = 0
  const timer = systemClock.after(2 ** 31, () => {
    ran += 1
  })
  timer.cancel()
  t.equal(ran, 0)
  t.end()
})

t.test('an overdue timer fires without a warning of Node', async t => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', onWarning)
  t.teardown(() => process.off('warning', onWarning))
  // The clock's timers do not keep a process alive.
  const alive = setInterval(() => undefined, 1000)
  await new Promise<void>(resolve => {
    systemClock.after(-5, resolve)
  })
  clearInterval(alive)
  t.same(warnings, [])
})
