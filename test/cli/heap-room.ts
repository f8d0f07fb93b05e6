import t from 'tap'
import { growthPercent } from '../../src/cli/heap-room.js'

const MIB = 1024 * 1024

t.test('the room between two collections is the same for every small heap, and a large one may double', t => {
  const roomOf = (usedBytes: number) => (usedBytes * growthPercent(usedBytes)) / 100
  for (const mib of [4, 8, 20, 50]) t.ok(Math.abs(roomOf(mib * MIB) - 64 * MIB) < MIB, `${mib} MiB`)
  t.equal(roomOf(300 * MIB), 300 * MIB)
  t.end()
})
