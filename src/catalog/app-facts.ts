import { mayContain } from '../kernel/json/edit.js'
import { elementsOf, type JsonText, kindOf, memberOf, some, stringOf } from '../kernel/json/text.js'

/** The properties of a tool that has an interface, or is not for models and apps (ext-apps, SEP-1865). */
export interface AppFacts {
  /** The server's own URIs of the interface; empty if it has none. */
  readonly interfaces: readonly string[]
  readonly isForModels: boolean
  readonly isForApps: boolean
}

/** Keys of interfaces, nested or flat, and of users. */
const MARKS = ['resourceUri"', 'outputTemplate"', '"visibility"'] as const

/** Returns false if a tool certainly has no `AppFacts`. */
export const mayHaveAppFacts = (tool: JsonText): boolean => mayContain(tool, ...MARKS)

/** Returns whether hosts may show a tool as an app. */
export const hasInterface = (app: AppFacts | undefined): boolean =>
  app !== undefined && app.interfaces.length > 0

/** Returns the facts of a tool; undefined for a plain tool for models and apps. */
export const appFactsOf = (tool: JsonText): AppFacts | undefined => {
  const meta = mayHaveAppFacts(tool) ? memberOf(tool, '_meta') : undefined
  if (meta === undefined) return undefined
  const ui = memberOf(meta, 'ui')
  const uris = [
    ui && memberOf(ui, 'resourceUri'),
    memberOf(meta, 'ui/resourceUri'),
    memberOf(meta, 'openai/outputTemplate'),
  ]
  const interfaces = [...new Set(uris.flatMap(uri => stringOf(uri) ?? []))]
  const visibility = ui && memberOf(ui, 'visibility')
  const isForModels = names(visibility, 'model')
  const isForApps = names(visibility, 'app')
  const isPlain = interfaces.length === 0 && isForModels && isForApps
  return isPlain ? undefined : { interfaces, isForModels, isForApps }
}

/** Returns whether a visibility names a user. Anything but an array names all users. */
const names = (visibility: JsonText | undefined, user: string): boolean =>
  visibility === undefined ||
  kindOf(visibility) !== 'array' ||
  some(elementsOf(visibility), one => stringOf(one) === user)
