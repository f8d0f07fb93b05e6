import { lstatSync, rmdirSync, rmSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cause } from '../../diagnostics/explain.js'
import { OWN_PACKAGE } from '../../kernel/machine/own-package.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { CLIENTS } from '../../setup/clients/clients.js'
import { foldersOf } from '../../setup/clients/machine.js'
import type { InstallPlace, PlannedInstall } from '../../setup/install/install.js'
import { SetupError } from '../../setup/setup-error.js'
import { confirm, isInteractive } from '../shared/output/ask.js'
import { oneLineText, print, printToStderr, shortPath } from '../shared/output/output.js'
import { mark } from '../shared/output/terminal.js'
import { wrappedText } from '../shared/output/wrap.js'
import { setupFiles, setupMachine } from '../shared/setup-files.js'
import {
  CliError,
  causeError,
  configOption,
  defineVerb,
  EXIT,
  jsonOption,
  type VerbArguments,
} from '../shared/verb.js'
import { removeAddedRules } from './client-rules.js'
import { type Context, oneByOne, openContext } from './installing.js'
import { type Interrupts, interruptible } from './interrupts.js'

const flags = {
  config: configOption,
  purge: { type: 'boolean', describe: 'Also delete the configuration, its secrets, backups and logins' },
  yes: { type: 'boolean', describe: 'Do it without asking' },
  json: jsonOption,
} as const

type Args = VerbArguments<typeof flags>

export const uninstall = defineVerb({
  usage: 'uninstall',
  describe: 'Restore the files of all clients, and stop the daemon and the service',
  flags,
  examples: [
    ['mcp-proxy uninstall', 'Shows each file and asks; the configuration and its secrets stay'],
    ['mcp-proxy uninstall --purge', 'Also deletes the configuration, secrets, backups and logins'],
    ['mcp-proxy uninstall --yes --json', 'In scripts'],
  ],
  async run(args) {
    return await interruptible('mcp-proxy uninstall', interrupts => goAway(args, interrupts))
  },
})

/** A client's file, and whether it was restored. */
interface Restored {
  readonly client: string
  readonly file: string
  readonly restored: boolean
  readonly why?: string
}

const goAway = async (args: Args, interrupts: Interrupts): Promise<number> => {
  const context = await openContext(args.config, fileURLToPath(packageFile('bin/connect.cjs')))
  const places = (await context.journals.all()).flatMap(({ client: id, scope, install }): InstallPlace[] => {
    const client = CLIENTS.find(each => each.id === id)
    return client === undefined ? [] : [{ client, scope, file: install.path }]
  })
  const ours = await ownPaths(context)
  for (const { client, file } of places)
    printToStderr(wrappedText(`  restore ${client.label}: ${shortPath(file)}`))
  printToStderr('  stop the daemon and the service')
  if (args.purge === true) for (const path of ours) printToStderr(`  delete ${shortPath(path)}`)
  await permit(args)
  const restored = await restoreAll(places, context, interrupts)
  for (const path of await removeAddedRules()) interrupts.wrote(path)
  await sweep(places, context)
  const stopped = await stopAll(args.config)
  const isWhole = restored.every(each => each.restored)
  const isPurging = args.purge === true && isWhole
  if (args.purge === true && !isWhole)
    printToStderr(wrappedText('nothing is deleted: the backups are needed until every client is restored'))
  const deleted = isPurging ? ours.filter(path => deletes(path)) : []
  const left = (await ownPaths(context)).filter(path => !deleted.includes(path))
  printLeft(left)
  if (args.json === true) {
    const command = removal()
    print(JSON.stringify({ version: 1, clients: restored, ...stopped, deleted, left, package: command }))
  }
  return isWhole ? EXIT.ok : EXIT.failure
}

/** Throws a CliError unless the user agrees. */
const permit = async ({ yes, purge }: Args): Promise<void> => {
  if (yes === true) return
  if (!isInteractive())
    throw causeError(
      EXIT.usage,
      cause('cli.uninstall-without-yes', { purge: purge === true ? ' --purge' : '' }),
    )
  if (!(await confirm('Uninstall?'))) throw new CliError(EXIT.negative, 'nothing was changed')
}

const restoreAll = async (
  places: readonly InstallPlace[],
  context: Context,
  { check, wrote }: Interrupts,
): Promise<readonly Restored[]> => {
  const { planUndo } = await import('../../setup/install/install.js')
  const done: Restored[] = []
  for (const place of places) {
    check()
    const { client, file } = place
    const base = { client: client.id, file }
    try {
      const [plan] = await oneByOne([async (): Promise<PlannedInstall> => await planUndo(context, place)])
      await plan?.carryOut()
      wrote(file)
      done.push({ ...base, restored: true })
      printToStderr(wrappedText(`${mark(true)} ${client.label}: restored ${shortPath(file)}`))
    } catch (thrown) {
      if (!(thrown instanceof SetupError)) throw thrown
      done.push({ ...base, restored: false, why: thrown.message })
      printToStderr(wrappedText(`${mark(false)} ${client.label}: ${thrown.message}; fix: ${thrown.fix}`))
    }
  }
  return done
}

/** Removes leftovers of killed runs next to the files that setup writes. */
const sweep = async (places: readonly InstallPlace[], { files, ownFile }: Context): Promise<void> => {
  const [{ removeLeftovers }, { settingsFiles }] = await Promise.all([
    import('../../setup/files/revise.js'),
    import('../../setup/clients/tool-rules.js'),
  ])
  const machine = setupMachine()
  const written = new Set([
    ...places.map(({ file }) => file),
    ...CLIENTS.flatMap(({ user }) => user(foldersOf(machine))),
    ...(await settingsFiles(files, machine)),
    ...[ownFile.file.state.path, ownFile.secrets.path],
  ])
  await Promise.all([...written].map(path => removeLeftovers(files.disk, path)))
}

/** Removes the service and stops the daemon. Never rejects: it reports a proxy that cannot be stopped. */
const stopAll = async (config: string | undefined) => {
  const [{ removeService }, { stopDaemon }, { runningPlace }] = await Promise.all([
    import('../service/manage.js'),
    import('../daemon/run.js'),
    import('../shared/daemon-place.js'),
  ])
  const attempt = async (work: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await work()
    } catch (thrown) {
      const isMissing = thrown instanceof CliError && thrown.code === EXIT.configuration
      if (!isMissing)
        printToStderr(
          `${mark(false)} ${oneLineText(thrown instanceof Error ? thrown.message : String(thrown))}`,
        )
      return false
    }
  }
  const service = await attempt(async () => (await removeService()).wasInstalled)
  const daemon = await attempt(
    async () => (await stopDaemon(await runningPlace({ config, pid: undefined }))) !== undefined,
  )
  if (service) printToStderr(`${mark(true)} the service is removed`)
  if (daemon) printToStderr(`${mark(true)} the daemon is stopped`)
  return { service, daemon }
}

/** Returns our existing files: the configuration, its secrets, and the state folder with the backups. */
const ownPaths = async ({ ownFile, programs }: Context): Promise<readonly string[]> => {
  const { state } = await setupFiles()
  const secrets = ownFile.secrets.path
  const beside = dirname(secrets) === dirname(ownFile.file.state.path) ? [secrets] : []
  return [programs.config, ...beside, state].filter(path => kindOf(path) !== undefined)
}

const kindOf = (path: string): 'link' | 'other' | undefined => {
  const found = lstatSync(path, { throwIfNoEntry: false })
  return found && (found.isSymbolicLink() ? 'link' : 'other')
}

const OWN_FOLDER = 'mcp-proxy'

/** Deletes a file or folder of ours, but not a link's target. Returns whether it is gone. */
const deletes = (path: string): boolean => {
  if (kindOf(path) === 'link') return false
  rmSync(path, { recursive: true, force: true })
  try {
    if (basename(dirname(path)) === OWN_FOLDER) rmdirSync(dirname(path))
  } catch {
    // The folder contains other files.
  }
  return true
}

const printLeft = (left: readonly string[]): void => {
  if (left.length > 0) printToStderr(wrappedText(`left: ${left.map(path => shortPath(path)).join(', ')}`))
  if (left.length > 0) printToStderr('to delete these too: mcp-proxy uninstall --purge')
  printToStderr(`the package itself: ${removal()}`)
}

/** Returns the command that removes the package: a link to a clone, or a global installation. */
const removal = (): string => {
  const folder = fileURLToPath(packageFile('.')).replace(/[/\\]$/, '')
  const isInstalled = /[/\\]node_modules[/\\]/.test(folder)
  const remove = `npm rm -g ${OWN_PACKAGE.name}`
  return isInstalled ? remove : `${remove}, then delete ${shortPath(folder)}`
}
