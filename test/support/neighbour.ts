import type { Test } from 'tap'
import type { RawClient } from './raw-client.js'

/**
 * Calls the tool `good__echo` of a healthy server again and again, until the returned function is called; then each answer
 * must have been right.
 */
export const probe = (t: Test, client: RawClient): (() => Promise<void>) => {
  let isOver = false
  let calls = 0
  let slowestMs = 0
  const wrong: string[] = []
  const run = async (): Promise<void> => {
    while (!isOver) {
      calls += 1
      const sinceMs = performance.now()
      const { last } = await client.call(`probe-${calls}`, 'good__echo', `{"n":${calls}}`)
      slowestMs = Math.max(slowestMs, performance.now() - sinceMs)
      if (last.message.result?.content?.[0]?.text !== `{"n":${calls}}`) wrong.push(last.text)
      await new Promise(resolve => setTimeout(resolve, 5))
    }
  }
  const running = run()
  return async () => {
    isOver = true
    await running
    t.same(wrong, [], 'each call of the healthy server was answered rightly')
    t.comment(`${calls} calls, the slowest took ${Math.round(slowestMs)} ms`)
  }
}
