import { itemAt, members, type TreeItem } from '../file/tree.js'
import type { CollectorConfig } from '../types.js'
import type { ReadContext } from './entry.js'
import { expandedWhole } from './variables.js'

interface CollectorValues {
  readonly endpoint?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/**
 * Reads the address and the headers of an OTLP collector. Undefined after errors, which end with `effect`,
 * such as "until then nothing is traced.".
 */
export const readCollector = (
  item: TreeItem,
  values: CollectorValues | undefined,
  effect: string,
  context: ReadContext,
): Pick<CollectorConfig, 'endpoint' | 'headers'> | undefined => {
  const found = members(item)
  const place = found.get('endpoint')
  // Validation has reported a missing endpoint.
  if (place === undefined || values?.endpoint === undefined) return undefined
  const { report } = context
  const { errors } = report
  const endpoint = expandedWhole(values.endpoint, place, context)
  if (report.errors === errors && !isWeb(endpoint))
    report.error(place, {
      message: 'this is not the address of a collector',
      fix: `Write one with http or https, such as "http://127.0.0.1:4318"; ${effect}`,
    })
  const headers = readHeaders(found.get('headers'), values.headers, effect, context)
  return report.errors > errors ? undefined : { endpoint, headers }
}

const isWeb = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const TOKEN = /^[!#$%&'*+\-.^`|~\w]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

const readHeaders = (
  item: TreeItem | undefined,
  values: CollectorValues['headers'],
  effect: string,
  context: ReadContext,
): CollectorConfig['headers'] => {
  if (item === undefined || values === undefined) return {}
  return Object.fromEntries(
    Object.entries(values).map(([name, written]) => {
      const place = itemAt(item, [name])
      const value = expandedWhole(written, place, context)
      if (!TOKEN.test(name) || !VALUE.test(value))
        context.report.error(place, {
          message: 'this is not a header',
          fix: `Write a name of letters, digits and dashes, and a value on one line; ${effect}`,
        })
      return [name.toLowerCase(), value]
    }),
  )
}
