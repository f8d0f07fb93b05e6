// Loaded into the proxy with --import: SIGUSR2 collects all garbage and writes what is left to the file that
// SOAK_REPORT names.
import { renameSync, writeFileSync } from 'node:fs'

const file = process.env.SOAK_REPORT ?? ''
const count = names => {
  const counts = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}
process.on('SIGUSR2', () => {
  // What finalizers let go of is collected by the next one.
  for (let round = 0; round < 3; round += 1) globalThis.gc?.()
  const report = { ...process.memoryUsage(), resources: count(process.getActiveResourcesInfo()) }
  writeFileSync(`${file}~`, JSON.stringify(report))
  renameSync(`${file}~`, file)
})
