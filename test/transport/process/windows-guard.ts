import { PassThrough } from 'node:stream'
import t from 'tap'
import type { ProcessRow } from '../../../src/transport/process/process-table.js'
import { guardTrees } from '../../../src/transport/process/windows-guard.js'
import { windowsRow, windowsTable } from '../../support/processes.js'

const SINCE_MS = 1_790_000_000_000
const OVER_MS = SINCE_MS + 3_600_000

/** Plays Windows; `refusing` cannot be asked to end, and nobody ends who is only asked. */
const play = async (input: string, rows: readonly ProcessRow[], refusing: readonly number[]) => {
  const said: string[] = []
  const pipe = new PassThrough()
  const done = guardTrees(pipe, {
    table: windowsTable(rows),
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
  const rows = [40, 41, 49].map(pid => windowsRow(pid, 1, SINCE_MS))
  t.same(await play(lines, rows, []), ['wait 1000', 'end 40', 'end 49', 'wait 2000', 'kill 40'])
})

t.test('trees that cannot be asked to end are ended at once', async t => {
  t.same(await play(lines, [windowsRow(40, 1, SINCE_MS)], [40]), ['wait 1000', 'end 40', 'kill 40'])
})

t.test('where processes cannot be seen, none is ended for its number alone', async t => {
  t.same(await play(lines, [], [40, 49]), ['wait 1000'])
})

t.test('nothing is waited for when nothing is watched', async t => {
  t.same(await play('', [], []), [])
  t.same(await play(`+41 ${SINCE_MS}\n-41`, [], []), [])
})
