import { PassThrough } from 'node:stream'
import t from 'tap'
import type { ProcessRow } from '../../src/transport/process-table.js'
import { guardTrees, ownedBy } from '../../src/transport/windows-guard.js'

/** A FILETIME of so many milliseconds after 1970. */
const filetime = (ms: number): string => String((BigInt(ms) + 11_644_473_600_000n) * 10_000n)
const row = (pid: number, parent: number, ms: number): ProcessRow => ({
  pid,
  group: pid,
  parent,
  born: filetime(ms),
})

const SINCE_MS = 1_790_000_000_000
const OVER_MS = SINCE_MS + 3_600_000

for (const [title, one, isOwned] of [
  ['a watched process that still runs is owned', row(40, 1, SINCE_MS - 20), true],
  ['its number in the hands of a later process is not', row(40, 1, OVER_MS), false],
  ['what it started is owned, whether it runs itself or not', row(50, 40, SINCE_MS + 60_000), true],
  ['what it started in its first moment is owned', row(50, 40, SINCE_MS - 10), true],
  ['what an earlier process of its number started is not', row(50, 40, SINCE_MS - 60_000), false],
  ['what a later process of its number started is not', row(50, 40, OVER_MS + 60_000), false],
  ['what others started is not', row(50, 41, SINCE_MS + 1), false],
] as const) {
  t.test(`${title} when the proxy was killed`, async t => {
    t.same(
      ownedBy(new Map([[40, SINCE_MS]]), [one], OVER_MS),
      isOwned ? [50, 40].filter(pid => pid === one.pid) : [],
    )
  })
}

/** Plays Windows; `refusing` cannot be asked to end, and nobody ends who is only asked. */
const play = async (input: string, rows: readonly ProcessRow[], refusing: readonly number[]) => {
  const said: string[] = []
  const pipe = new PassThrough()
  const done = guardTrees(pipe, {
    table: {
      rows: () => Promise.resolve(rows),
      carries: () => Promise.resolve(false),
      carriers: () => Promise.resolve([]),
    },
    tree: {
      hasGroups: false,
      end: pid => {
        said.push(`end ${pid}`)
        return Promise.resolve(!refusing.includes(pid))
      },
      kill: pid => {
        said.push(`kill ${pid}`)
        return Promise.resolve()
      },
      isRunning: pid => Promise.resolve(pid !== 49),
    },
    wait: delayMs => {
      said.push(`wait ${delayMs}`)
      return Promise.resolve()
    },
    wallMs: () => OVER_MS,
    endMs: 1000,
    killMs: 2000,
  })
  pipe.end(input)
  await done
  return said
}

const lines = `+40 ${SINCE_MS}\n+41 ${SINCE_MS}\nnonsense\n+0 ${SINCE_MS}\n+7\n+49 ${SINCE_MS}\n-41\n`

t.test('trees that are still watched when the proxy is gone are asked to end, then ended', async t => {
  const rows = [40, 41, 49].map(pid => row(pid, 1, SINCE_MS))
  t.same(await play(lines, rows, []), ['wait 1000', 'end 40', 'end 49', 'wait 2000', 'kill 40'])
})

t.test('trees that cannot be asked to end are ended at once', async t => {
  t.same(await play(lines, [row(40, 1, SINCE_MS)], [40]), ['wait 1000', 'end 40', 'kill 40'])
})

t.test('where processes cannot be looked at, the watched numbers are ended', async t => {
  t.same(await play(lines, [], [40, 49]), ['wait 1000', 'end 40', 'end 49', 'kill 40'])
})

t.test('nothing is waited for when nothing is watched', async t => {
  t.same(await play('', [], []), [])
  t.same(await play(`+41 ${SINCE_MS}\n-41`, [], []), [])
})
