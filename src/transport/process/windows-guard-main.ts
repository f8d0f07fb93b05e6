// The program that `death-guard.ts` starts on Windows; its arguments are `endMs` and `killMs`.
import { setTimeout } from 'node:timers/promises'
import { processTable } from './process-table.js'
import { processTree } from './process-tree.js'
import { guardTrees } from './windows-guard.js'

const [endMs, killMs] = process.argv.slice(2).map(Number)

await guardTrees(process.stdin, {
  table: processTable('win32'),
  tree: processTree({ platform: 'win32' }),
  wait: delayMs => setTimeout(delayMs),
  wallMs: () => Date.now(),
  endMs: endMs ?? 0,
  killMs: killMs ?? 0,
})
