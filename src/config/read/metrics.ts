import { isLoopbackHost } from '../../kernel/loopback.js'
import { members, type TreeItem } from '../file/tree.js'
import type { SettingsValues } from '../schema/validate.js'
import type { MetricsConfig } from '../types.js'
import { readAddress } from './address.js'
import type { ReadContext } from './entry.js'
import { readPlain } from './plain.js'
import { expandedWhole } from './variables.js'

export const isOff = (key: string, item: TreeItem | undefined): boolean =>
  key === 'metrics' && item?.node.type === 'boolean' && item.node.value === false

/** Reads `metrics`. Reports an invalid `listen` and leaves it out. */
export const readMetrics = (
  item: TreeItem | undefined,
  values: SettingsValues['metrics'],
  context: ReadContext,
): MetricsConfig | undefined => {
  if (isOff('metrics', item)) return undefined
  const token = textAt(given('token', item, values), context)
  const listen = addressAt(given('listen', item, values), context)
  const listenItem = members(item).get('listen')
  if (listen !== undefined && listenItem !== undefined && isOpen(listen, token)) {
    context.report.error(listenItem, {
      message: 'other machines can reach this address without a token',
      fix: 'Add "token", or listen on 127.0.0.1; until then the proxy does not start.',
    })
  }
  return { ...readPlain('metrics', { items: members(item), values, report: context.report }), listen, token }
}

/** A valid member. */
const given = (
  key: 'token' | 'listen',
  item: TreeItem | undefined,
  values: SettingsValues['metrics'],
): TreeItem | undefined => (values?.[key] === undefined ? undefined : members(item).get(key))

const isOpen = ({ host }: NonNullable<MetricsConfig['listen']>, token: string | undefined): boolean =>
  token === undefined && !isLoopbackHost(host)

const textAt = (item: TreeItem | undefined, context: ReadContext): string | undefined => {
  if (item === undefined) return undefined
  const { errors } = context.report
  const text = expandedWhole(String(item.node.value), item, context)
  return context.report.errors > errors || text === '' ? undefined : text
}

const LISTEN_FIX = 'Write both, such as "127.0.0.1:9464"; until then metrics are not served separately.'

const addressAt = (item: TreeItem | undefined, context: ReadContext): MetricsConfig['listen'] => {
  const text = textAt(item, context)
  if (item === undefined || text === undefined) return undefined
  return readAddress(text, item, { context, fix: LISTEN_FIX })
}
