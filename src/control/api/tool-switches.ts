import type { ServerView } from '../../catalog/lists/server-view.js'
import {
  type HidingRules,
  isHidden,
  isPattern,
  obstacleToDisable,
  obstacleToEnable,
} from '../../config/tool-rules.js'
import { Fault } from '../../kernel/faults.js'
import { textMember } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { ControlApiContext } from './context.js'
import { configOf } from './item-changes.js'
import { rawsOf } from './uri-routes.js'

/**
 * Returns the tools of a server, including hidden ones, each with its state and the reason why it cannot be
 * switched. Throws a Fault `invalid-params` for an unknown server.
 */
export const toolSwitchesView = (context: ControlApiContext, server: string) => {
  const { view, rules } = found(context, server)
  const tools = [...namesOf(context, view, rules)].map(own => {
    const isEnabled = !isHidden(rules, own)
    const obstacle = isEnabled ? obstacleToDisable(server, own) : obstacleToEnable(server, rules, own)
    return {
      own,
      name: view.exposeName('tools', own),
      isEnabled,
      why: obstacle && sanitizeLine(obstacle.message, 256),
    }
  })
  return { version: 1, canSwitch: context.switchTool !== undefined, tools }
}

export type ToolSwitchesView = ReturnType<typeof toolSwitchesView>

/** Disables or enables a tool in the file. Rejects with a Fault `invalid-params` for an unknown tool. */
export const switchTool = async (
  context: ControlApiContext,
  tool: { readonly server: string; readonly own: string },
  isEnabled: boolean,
): Promise<object> => {
  const { view, rules } = found(context, tool.server)
  if (!namesOf(context, view, rules).has(tool.own))
    throw new Fault('invalid-params', `Unknown tool: ${sanitizeLine(tool.own, 128)}`)
  if (context.switchTool === undefined)
    throw new Fault('invalid-params', 'this proxy runs without a configuration file')
  await context.switchTool(tool, isEnabled)
  return { version: 1 }
}

const found = (
  context: ControlApiContext,
  server: string,
): { readonly view: ServerView; readonly rules: HidingRules } => {
  const view = [...context.router.catalog.views.values()].find(one => one.server.name === server)
  if (view === undefined) throw new Fault('invalid-params', `Unknown server: ${server}`)
  return { view, rules: configOf(context, view)?.tools ?? { deny: [] } }
}

/** Returns the listed tools, and tools that the file disables by name, which may not be listed yet. */
const namesOf = (
  context: ControlApiContext,
  view: ServerView,
  { deny }: HidingRules,
): ReadonlySet<string> => {
  const listed = rawsOf(context, view, 'tools').flatMap(raw => textMember(raw, 'name') ?? [])
  return new Set([...listed, ...deny.filter(each => each !== '' && !isPattern(each))])
}
