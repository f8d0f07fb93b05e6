import type { InstanceRecord } from '../../state/instance.js'
import { numbered, oneLineText, printToStderr } from '../shared/output/output.js'
import { askRunning, chooseRunning, runningName } from '../shared/running.js'
import { EXIT } from '../shared/verb.js'

/** Ample for a file of a few hundred servers. */
const LIMIT_MS = 5000
const POLL_MS = 50

/** The members of the last reload's result that this file uses. */
interface LastReload {
  readonly result: string
  readonly at: string
  readonly problems?: readonly string[]
}

/**
 * Makes the running proxies of a configuration reload it after a change, and reports proxies that reject it.
 * Resolves with the exit code: a rejection is a failure, because removed servers still run in that proxy.
 */
export const followedBy = async (file: string): Promise<number> => {
  const { all } = await chooseRunning(file)
  const codes = await Promise.all(all.filter(({ socket }) => socket !== undefined).map(followed))
  return Math.max(EXIT.ok, ...codes)
}

const followed = async (one: InstanceRecord): Promise<number> => {
  let last: LastReload | undefined
  try {
    last = await reloaded(one)
  } catch {
    last = undefined
  }
  if (last?.result === 'ok') return EXIT.ok
  const name = oneLineText(runningName(one))
  if (last === undefined) printToStderr(`! ${name} did not answer; it reads the file when it can`)
  else {
    printToStderr(numbered(`${name} rejected the file and keeps its previous configuration`, 'D014'))
    for (const problem of last.problems ?? []) printToStderr(`  ${oneLineText(problem)}`)
  }
  return last === undefined ? EXIT.ok : EXIT.failure
}

/** Resolves with undefined if the proxy does not reload in time. */
const reloaded = async (one: InstanceRecord): Promise<LastReload | undefined> => {
  const before = (await lastReload(one))?.at
  await askRunning(one, '/v1/reload', '{}')
  for (const endMs = performance.now() + LIMIT_MS; performance.now() < endMs; ) {
    const last = await lastReload(one)
    if (last !== undefined && last.at !== before) return last
    await new Promise(resolve => setTimeout(resolve, POLL_MS))
  }
  return undefined
}

const lastReload = async (one: InstanceRecord): Promise<LastReload | undefined> => {
  const { config } = JSON.parse(await askRunning(one, '/v1/status')) as {
    config?: { lastReload?: LastReload }
  }
  return config?.lastReload
}
