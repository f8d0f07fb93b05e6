import t from 'tap'
import { lateModule } from '../../src/kernel/late-module.js'

t.test('a module is loaded once, when it is first needed', async t => {
  let loads = 0
  const module = lateModule(async () => {
    loads += 1
    return { here: true }
  })
  t.equal(loads, 0)
  t.same(await Promise.all([module(), module()]), [{ here: true }, { here: true }])
  t.equal(loads, 1)
})

t.test('a module that is gone is told as such, without its path', async t => {
  const gone = new Error("Cannot find module '/opt/proxy/dist/x.js'")
  const module = lateModule(() => Promise.reject(gone))
  for (let n = 0; n < 2; n += 1) {
    const fault = await module().catch((thrown: unknown) => thrown)
    t.match(fault, { code: 'unavailable', message: /updated or removed .* start it again/, cause: gone })
    t.notMatch((fault as Error).message, '/opt')
  }
})
