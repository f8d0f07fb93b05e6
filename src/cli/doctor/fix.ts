import { chmodSync, rmSync } from 'node:fs'
import { rowOf } from '../../diagnostics/causes.js'
import type { Examined, Gather } from '../../doctor/examine.js'
import { worstFirst } from '../../doctor/examine.js'
import type { AutoFix, Finding } from '../../doctor/finding.js'
import { mask } from '../../kernel/secrets/mask.js'
import type { PlannedInstall } from '../../setup/install/install.js'
import { SetupError } from '../../setup/setup-error.js'
import { confirm } from '../shared/output/ask.js'
import { printToStderr } from '../shared/output/output.js'
import { CliError } from '../shared/verb.js'

export interface FixOptions {
  readonly config: string | undefined
  readonly file: string
  readonly isAsking: boolean
  readonly isJson: boolean
  readonly gather: Gather
}

/** A planned fix: the changes to show, and the action. */
interface Plan {
  readonly lines: readonly string[]
  readonly carryOut: () => Promise<void>
}

/** Applies available fixes, with one question each. Resolves with the fixed problem numbers. */
export const fixAll = async (all: readonly Examined[], options: FixOptions): Promise<readonly string[]> => {
  const fixed = new Set<string>()
  const done = new Set<string>()
  for (const found of worstFirst(all)) {
    const { autoFix, id } = found
    const key = JSON.stringify(autoFix)
    if (autoFix === undefined || done.has(key)) continue
    done.add(key)
    try {
      if (await fixOne(found, autoFix, options)) fixed.add(id)
    } catch (thrown) {
      if (!(thrown instanceof SetupError || thrown instanceof CliError || isSystemError(thrown))) throw thrown
      printToStderr(`${id}: ${thrown.message}`)
    }
  }
  return [...fixed]
}

const isSystemError = (thrown: unknown): thrown is Error => thrown instanceof Error && 'syscall' in thrown

const fixOne = async ({ id, message }: Finding, autoFix: AutoFix, options: FixOptions): Promise<boolean> => {
  const { lines, carryOut } = await planOf(autoFix, options)
  if (lines.length === 0) return false
  printToStderr(mask(`${id}: ${message}`))
  for (const line of lines) printToStderr(`  ${line}`)
  if (options.isAsking && !(await confirm(`  ${rowOf(id).autoFix ?? 'fixes it'}: do it?`))) return false
  await carryOut()
  return true
}

const planOf = async (autoFix: AutoFix, options: FixOptions): Promise<Plan> => {
  switch (autoFix.is) {
    case 'rights': {
      const { path, mode } = autoFix
      return plan(`chmod ${mode.toString(8)} ${path}`, () => chmodSync(path, mode))
    }
    case 'remove':
      return await planRemoval(autoFix.path, options)
    case 'end':
      return await planEnd(autoFix)
    case 'restart':
    case 'service':
      return await planRun(autoFix.is, options)
    case 'move-secrets': {
      const { planSecrets } = await import('./move-secrets.js')
      return await planSecrets(options.file)
    }
    case 'install':
    case 'refresh': {
      const { plannedInstalls } = await import('../setup/install.js')
      const clients = autoFix.is === 'install' ? [autoFix.client] : []
      const refresh = autoFix.is === 'refresh'
      return planFiles(await plannedInstalls({ config: options.config, clients, refresh }))
    }
  }
}

const planRun = async (what: 'restart' | 'service', options: FixOptions): Promise<Plan> => {
  const { config, gather, isJson } = options
  if (what === 'restart') {
    const { restartedUnlessServed } = await import('./restart.js')
    const kept = (await gather('daemon'))?.status?.kept
    return plan('mcp-proxy daemon restart', () => restartedUnlessServed(config, kept))
  }
  // Its output would precede the JSON document.
  if (isJson) return { lines: [], carryOut: () => Promise.resolve() }
  const { reinstall } = await import('./service.js')
  return plan('mcp-proxy service install', () => reinstall(config))
}

const plan = (line: string, work: () => unknown): Plan => ({
  lines: [line],
  carryOut: async () => {
    await work()
  },
})

/** Checks the path again: another process may have taken it meanwhile. */
const planRemoval = async (path: string, { file }: FixOptions): Promise<Plan> => {
  const [{ readDaemon }, { isAbandoned }] = await Promise.all([
    import('./machine.js'),
    import('../../shim/lock.js'),
  ])
  const isLeft = async (): Promise<boolean> => {
    const daemon = await readDaemon(file, false)
    if (daemon?.drafts?.includes(path) === true) return true
    return path === daemon?.lock ? isAbandoned(path) : daemon?.state === 'dead' && path === daemon.socket
  }
  return plan(`rm ${path}`, async () => {
    if (await isLeft()) rmSync(path, { force: true })
  })
}

const planEnd = async ({ pid, born }: Extract<AutoFix, { is: 'end' }>): Promise<Plan> => {
  const { endProcess } = await import('../../state/processes/end-process.js')
  return plan(`kill ${pid}`, async () => {
    if (!(await endProcess(pid, born))) printToStderr(`  ${pid} does not end`)
  })
}

const planFiles = (work: readonly PlannedInstall[]): Plan => ({
  lines: work.flatMap(({ path, lines }) =>
    lines.length === 0 ? [] : [path, ...lines.map(line => `  ${line}`)],
  ),
  carryOut: async () => {
    for (const each of work) {
      await each.carryOut()
      if (each.changes.length > 0) printToStderr(`  ${each.place.client.reload}`)
    }
  },
})
