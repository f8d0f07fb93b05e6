import type { Verb, VerbGroup } from './verb.js'
import { auth } from './verbs/auth/auth.js'
import { bridge } from './verbs/bridge.js'
import { call } from './verbs/call.js'
import { check } from './verbs/check.js'
import { cluster } from './verbs/cluster/cluster.js'
import { completion } from './verbs/completion.js'
import { connect } from './verbs/connect.js'
import { daemon } from './verbs/daemon/daemon.js'
import { doctor } from './verbs/doctor/doctor.js'
import { list } from './verbs/list.js'
import { logs } from './verbs/logs.js'
import { serve } from './verbs/serve.js'
import { service } from './verbs/service/service.js'
import { add } from './verbs/setup/add.js'
import { disable, enable } from './verbs/setup/enable.js'
import { importVerb } from './verbs/setup/import.js'
import { init } from './verbs/setup/init.js'
import { install } from './verbs/setup/install.js'
import { remove } from './verbs/setup/remove.js'
import { uninstall } from './verbs/setup/uninstall.js'
import { status } from './verbs/status.js'
import { stdio } from './verbs/stdio.js'
import { ui } from './verbs/ui.js'
import { why } from './verbs/why.js'

export type Command = Verb | VerbGroup

/** All verbs and verb groups, in the sections and order of the help. */
export const SECTIONS: readonly (readonly [title: string, commands: readonly Command[]])[] = [
  ['Start', [init, importVerb, add, install, uninstall, remove, enable, disable]],
  ['Run', [connect, serve, daemon, service, stdio, bridge, auth]],
  ['Look', [status, why, logs, ui, list, call, doctor, check, cluster, completion]],
]

export const COMMANDS: readonly Command[] = SECTIONS.flatMap(([, commands]) => commands)

export const isGroup = (command: Command): command is VerbGroup => 'verbs' in command

/** Returns the first word of a command's usage. */
export const nameOf = ({ usage }: Command): string => usage.split(' ', 1).join()

/** Returns the command that the first words of a command line name, or undefined for unknown words. */
export const commandAt = ([first, second]: readonly string[]): Command | undefined => {
  const command = COMMANDS.find(each => nameOf(each) === first)
  if (command === undefined || !isGroup(command)) return command
  return command.verbs.find(each => nameOf(each) === second) ?? command
}
