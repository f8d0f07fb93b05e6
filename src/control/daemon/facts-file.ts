import { rmSync } from 'node:fs'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { RuntimePaths } from '../../shim/place.js'
import { readPrivate, writePrivate } from '../../state/private-file.js'

const RECORD_BYTES = 64 * 1024

/** Writes a record of the running process for people. Returns a function that removes it. */
export const keepFacts = async (
  { facts, socket, log }: RuntimePaths,
  config: string,
): Promise<() => void> => {
  const { pid } = process
  const startedAt = new Date().toISOString()
  const text = JSON.stringify({
    version: 1,
    proxy: { version: IDENTITY.version },
    pid,
    startedAt,
    config,
    socket,
    log,
  })
  await writePrivate(facts, `${text}\n`).catch(() => undefined)
  return () => {
    const found = readPrivate(facts, RECORD_BYTES)?.toString()
    if (found === `${text}\n`) rmSync(facts, { force: true })
  }
}
