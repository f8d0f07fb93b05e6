import fc, { type IAsyncProperty, type IProperty } from 'fast-check'
import type { Test } from 'tap'

/** Percentage of each property's runs: CI runs all of them, local work some. */
const PERCENT = Number(process.env['PROPERTY_PERCENT'] ?? '20')

/** Returns options of `fc.assert` for a property with this number of full runs. */
export const runs = (count: number): { readonly numRuns: number } => ({
  numRuns: Math.max(20, Math.round((count * PERCENT) / 100)),
})

/** Time per property in `npm run fuzz`; without it, each has a fixed number of runs. */
const forMs = Number(process.env['FUZZ_MS'] ?? 0)
const seed = process.env['FUZZ_SEED'] === undefined ? undefined : Number(process.env['FUZZ_SEED'])
const path = process.env['FUZZ_PATH']
const RUNS = 300

/** Nothing that is fuzzed here takes a hundredth of this, even on a slow machine. */
const HANG_MS = 30_000

/** Tests that a property holds for all inputs; a failure reports its seed for FUZZ_SEED and FUZZ_PATH. */
export const holds = <T>(
  t: Test,
  title: string,
  property: IProperty<T> | IAsyncProperty<T>,
  runs = RUNS,
): Promise<unknown> =>
  t.test(title, async t => {
    const budget =
      forMs > 0
        ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: forMs, markInterruptAsFailure: false }
        : { numRuns: runs }
    const settings = { ...budget, ...(seed !== undefined && { seed }), ...(path !== undefined && { path }) }
    const found = await fc.check(property as IAsyncProperty<T>, settings)
    const why = found.errorInstance instanceof Error ? found.errorInstance.stack : found.errorInstance
    t.notOk(found.failed, `${fc.defaultReportMessage(found) ?? `${found.numRuns} runs`} ${why ?? ''}`)
  })

/** Returns the result of `work`; throws if it takes so long that it counts as hanging. */
export const soon = <T>(work: () => T): T => {
  const sinceMs = performance.now()
  const result = work()
  const tookMs = performance.now() - sinceMs
  if (tookMs > HANG_MS) throw new Error(`took ${Math.round(tookMs)} ms`)
  return result
} /** Cuts bytes at the given places (modulo their length), so that every chunk is a copy of its own. */
export function cutInto(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const at = [0, ...cuts.map(cut => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return at.slice(1).map((end, i) => Buffer.from(bytes.subarray(at[i], end)))
}
