import type { ServerView } from '../../catalog/lists/server-view.js'
import { repairItem } from '../../catalog/repair/items.js'
import type { ServerConfig } from '../../config/types.js'
import { type Cause, cause } from '../../diagnostics/explain.js'
import { type JsonText, textMember } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { visibleText } from '../../kernel/secrets/plain-text.js'
import { LISTS, type ListName } from '../../model/listing.js'
import type { ControlApiContext } from './context.js'
import { inServer, placed } from './places.js'
import { rawsOf } from './uri-routes.js'
import { ageText, type Reason, reason } from './verdicts.js'
import { mergedItems } from './views.js'

// Explains the differences between an item of a server and the item that clients see.

/** A listed item. */
export interface Found {
  readonly view: ServerView
  readonly list: ListName
  readonly own: string
  readonly raw: JsonText
}

/** Returns the differences between the server's item and the exposed item. */
export const changesOf = (context: ControlApiContext, found: Found, query: string): readonly Reason[] => {
  const { view, list, own, raw } = found
  const repaired = repairItem(list, raw)
  const notes = 'dropped' in repaired ? [] : repaired.notes
  const twins = rawsOf(context, view, list).filter(other => textMember(other, LISTS[list].identity) === own)
  return [
    ...(twins.length > 1 ? [reason(cause('repeated', {}))] : []),
    ...(list === 'tools' ? toolChanges(context, found, query) : []),
    ...(list === 'tools' || list === 'prompts' ? nameChanges(context, { view, list, own }) : []),
    ...notes.map(what => reason(cause('repaired', { what }))),
  ]
}

const toolChanges = (context: ControlApiContext, { view, own }: Found, query: string): readonly Reason[] => {
  const { name: server } = view.server
  const override = configOf(context, view)?.tools.override[own]
  const sinceMs = view.schemaWithdrawnMs(own)
  const placeOf = (key: string) => placed(context, ...inServer(server, key, own))
  return [
    ...(view.tools.renamed(own) === own ? [] : [renamed(context, view, { own, query })]),
    ...(override === undefined
      ? []
      : [reason(cause('overridden', { parts: partsOf(override) }), placeOf('override'))]),
    ...(sinceMs === undefined
      ? []
      : [reason(cause('output-schema-withdrawn', { age: ageText(Date.now() - sinceMs) }))]),
  ]
}

/** Names the parts that `tools.override` replaces: `title, annotations.readOnlyHint`. */
const partsOf = ({ annotations = {}, ...texts }: ServerConfig['tools']['override'][string]): string =>
  [
    ...Object.entries(texts).flatMap(([key, text]) => (text === undefined ? [] : [key])),
    ...Object.keys(annotations).map(key => `annotations.${sanitizeLine(key, 64)}`),
  ].join(', ')

/** Names the new name of a tool, and the exposed one for a query by another name. */
export const renamed = (
  context: ControlApiContext,
  view: ServerView,
  { own, query }: { readonly own: string; readonly query: string },
): Reason => {
  const { name: server } = view.server
  const name = view.tools.renamed(own)
  const exposed = exposedAs(context, view, 'tools', own) ?? view.exposeName('tools', own)
  return reason(
    query === exposed ? cause('renamed', { name }) : cause('renamed.old', { name, exposed }),
    placed(context, ...inServer(server, 'rename', own)),
  )
}

/** Returns the name of a listed item in the merged list. Undefined if another server has the name. */
const exposedAs = (
  context: ControlApiContext,
  view: ServerView,
  list: ListName,
  own: string,
): string | undefined =>
  mergedItems(context, list).find(item => item.server === view.server && item.own === own)?.exposed

const nameChanges = (
  context: ControlApiContext,
  {
    view,
    list,
    own,
  }: { readonly view: ServerView; readonly list: 'tools' | 'prompts'; readonly own: string },
): readonly Reason[] => {
  const { name: server, options } = view.server
  const renamed = list === 'tools' ? view.tools.renamed(own) : own
  const whole = view.exposure.prefix ? `${options.alias}__${renamed}` : renamed
  const exposed = view.exposeName(list, own)
  const shown = exposedAs(context, view, list, own)
  const owner = shown === exposed ? '' : takerOf(context, view, list, exposed)
  const taken =
    shown === undefined
      ? cause('prefixed.hidden', { server, owner }, server)
      : cause('prefixed', { exposed: shown, owner }, server)
  return [
    ...(exposed === whole ? [] : [reason(shortened(whole, exposed))]),
    ...(shown === exposed ? [] : [reason(taken)]),
  ]
}

/** Returns the server that took a name from another server. */
const takerOf = (
  context: ControlApiContext,
  { server }: ServerView,
  list: 'tools' | 'prompts',
  exposed: string,
): string => {
  const { catalog } = context.router
  const holder = mergedItems(context, list).find(item => item.exposed === exposed)?.server
  if (holder !== undefined) return holder.name
  if (list === 'tools' && catalog.isReserved(exposed)) return 'mcp-proxy itself'
  const others = [...catalog.views.keys()].filter(other => other !== server)
  // A name under the alias of another server is kept for that server.
  return others.find(({ options }) => exposed.startsWith(`${options.alias}__`))?.name ?? 'another server'
}

const shortened = (whole: string, exposed: string): Cause => {
  const strange = [...new Set(whole.match(/[^A-Za-z0-9_-]/gu))].map(visibleText).join(' ')
  if (strange !== '')
    return cause('shortened.characters', { characters: sanitizeLine(strange, 256), exposed })
  const count = whole.length - exposed.length
  return cause('shortened.long', { whole: sanitizeLine(whole, 128), count, exposed })
}

export const configOf = ({ configOf: find }: ControlApiContext, view: ServerView): ServerConfig | undefined =>
  find(view.server.options)
