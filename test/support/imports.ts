import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'

const PRELOAD = new URL('../fixtures/print-imports.mjs', import.meta.url)

/** How to start a program so that it tells, once it has ended, which packages it loaded. */
export const tracedImports = (t: Test) => {
  const file = join(t.testdir(), 'imports.json')
  return {
    nodeArgs: ['--import', PRELOAD.href],
    env: { IMPORTS_FILE: file },
    read: (): string[] => JSON.parse(readFileSync(file, 'utf8')),
  }
}
