import { plainDefaults } from '../defaults.js'
import type { Report } from '../file/problem.js'
import type { TreeItem } from '../file/tree.js'
import type { Quantity } from '../schema/duration.js'
import { PLAIN_SETTINGS, type PlainSettings } from '../schema/settings.generated.js'
import { durationReader } from './quantity.js'

interface PlainSource<G extends keyof PlainSettings> {
  /** The members of the object in the file. */
  readonly items: ReadonlyMap<string, TreeItem>
  /** Their validated values; other members are ignored. */
  readonly values: object | undefined
  /** Values for absent keys; the defaults if absent. */
  readonly fallbacks?: PlainSettings[G] | undefined
  readonly report: Report
}

/**
 * Reads the plain keys of a group (schema/values.ts). For numbers, "off" becomes `Infinity`. A duration out
 * of range is reported and replaced by its fallback.
 */
export const readPlain = <G extends keyof PlainSettings>(
  group: G,
  { items, values = {}, fallbacks = plainDefaults(group), report }: PlainSource<G>,
): PlainSettings[G] => {
  const given = values as Readonly<Record<string, unknown>>
  const duration = durationReader(items, given as Readonly<Record<string, Quantity | undefined>>, report)
  const table: Readonly<Record<string, { readonly key: string; readonly leastMs?: number }>> =
    PLAIN_SETTINGS[group]
  return Object.fromEntries(
    Object.entries(table).map(([name, { key, leastMs }]) => {
      const fallback: unknown = fallbacks[name as keyof PlainSettings[G]]
      if (leastMs !== undefined) return [name, duration(key, fallback as number, leastMs)]
      const value = given[key] ?? fallback
      return [name, value === 'off' && typeof fallback === 'number' ? Number.POSITIVE_INFINITY : value]
    }),
  ) as unknown as PlainSettings[G]
}
