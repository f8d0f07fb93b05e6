import { auth } from './auth/auth.js'
import { cluster } from './cluster/cluster.js'
import { completion } from './completion.js'
import { daemon } from './daemon/daemon.js'
import { check } from './doctor/check.js'
import { doctor } from './doctor/doctor.js'
import { lock } from './doctor/lock.js'
import { approvals, approveCall, denyCall } from './rules/approvals.js'
import { rules } from './rules/rules.js'
import { bridge } from './serve/bridge.js'
import { connect } from './serve/connect.js'
import { serve } from './serve/serve.js'
import { stdio } from './serve/stdio.js'
import { service } from './service/service.js'
import { add } from './setup/add.js'
import { disable, enable } from './setup/enable.js'
import { importVerb } from './setup/import.js'
import { init } from './setup/init.js'
import { install } from './setup/install.js'
import { remove } from './setup/remove.js'
import { uninstall } from './setup/uninstall.js'
import type { Verb, VerbGroup } from './shared/verb.js'
import { audit } from './status/audit.js'
import { logs } from './status/logs.js'
import { status } from './status/status.js'
import { ui } from './status/ui.js'
import { why } from './status/why.js'
import { call } from './tools/call.js'
import { list } from './tools/list.js'
import { tools } from './tools/tools.js'

export type Command = Verb | VerbGroup

/** All verbs and verb groups, in the sections and order of the help. */
export const SECTIONS: readonly (readonly [title: string, commands: readonly Command[]])[] = [
  ['Start', [init, importVerb, add, install, uninstall, remove, enable, disable, tools]],
  ['Run', [connect, serve, daemon, service, stdio, bridge, auth]],
  [
    'Look',
    [
      status,
      why,
      logs,
      ui,
      list,
      call,
      doctor,
      check,
      rules,
      approvals,
      approveCall,
      denyCall,
      lock,
      audit,
      cluster,
      completion,
    ],
  ],
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
