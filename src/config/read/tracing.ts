import { itemAt, members, type TreeItem } from '../file/tree.js'
import type { SettingsValues } from '../schema/validate.js'
import type { TracingConfig } from '../types.js'
import type { ReadContext } from './entry.js'
import { readPlain } from './plain.js'
import { expandedWhole } from './variables.js'

const OFF = 'until then nothing is traced.'

/** Reads `tracing`. Any error is reported and turns it off. */
export const readTracing = (
  item: TreeItem | undefined,
  values: SettingsValues['tracing'],
  context: ReadContext,
): TracingConfig | 'env' | undefined => {
  const { report } = context
  if (item === undefined) return undefined
  if (item.node.type === 'string') return readWord(item, context)
  const found = members(item)
  const place = found.get('endpoint')
  // Validation has reported a missing endpoint.
  if (place === undefined || values?.endpoint === undefined) return undefined
  const { errors } = report
  const endpoint = readEndpoint(values.endpoint, place, context)
  const headers = readHeaders(found.get('headers'), values.headers, context)
  if (report.errors > errors) return undefined
  return { ...readPlain('tracing', { items: found, values, report }), endpoint, headers }
}

const readWord = (item: TreeItem, { report }: ReadContext): 'env' | undefined => {
  if (item.node.value === 'env') return 'env'
  report.error(item, {
    message: 'invalid value of "tracing"',
    fix: `Write "env", or an object such as { "endpoint": "http://127.0.0.1:4318" }; ${OFF}`,
  })
  return undefined
}

const readEndpoint = (written: string, place: TreeItem, context: ReadContext): string => {
  const { report } = context
  const { errors } = report
  const endpoint = expandedWhole(written, place, context)
  if (report.errors === errors && !isWeb(endpoint))
    report.error(place, {
      message: 'this is not the address of a collector',
      fix: `Write one with http or https, such as "http://127.0.0.1:4318"; ${OFF}`,
    })
  return endpoint
}

const isWeb = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const TOKEN = /^[!#$%&'*+\-.^`|~\w]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

const readHeaders = (
  item: TreeItem | undefined,
  values: NonNullable<SettingsValues['tracing']>['headers'],
  context: ReadContext,
): Readonly<Record<string, string>> => {
  if (item === undefined || values === undefined) return {}
  return Object.fromEntries(
    Object.entries(values).map(([name, written]) => {
      const place = itemAt(item, [name])
      const value = expandedWhole(written, place, context)
      if (!TOKEN.test(name) || !VALUE.test(value))
        context.report.error(place, {
          message: 'this is not a header',
          fix: `Write a name of letters, digits and dashes, and a value on one line; ${OFF}`,
        })
      return [name.toLowerCase(), value]
    }),
  )
}
