import { resolve } from 'node:path'
import { members, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { NO_FOREIGN_KEYS, warnUnknown } from '../schema/keys.js'
import type { SettingsValues } from '../schema/validate.js'
import type { AuditConfig } from '../types.js'
import { readCollector } from './collector.js'
import type { ReadContext } from './entry.js'
import { expandedPath } from './variables.js'

/** Reads `audit`, an object or its member `to` alone. An error turns it off. */
export const readAudit = (
  item: TreeItem | undefined,
  { audit, auditArguments }: SettingsValues,
  context: ReadContext,
): AuditConfig | undefined => {
  const { errors } = context.report
  const places = item && readPlaces(item, audit, context)
  if (places === undefined || context.report.errors > errors) return undefined
  const withArguments = audit?.arguments ?? auditArguments ?? false
  return { ...places, withArguments, ...(audit?.strict === true && { isStrict: true }) }
}

/** Returns where audit lines go; undefined if they go nowhere. */
const readPlaces = (
  item: TreeItem,
  audit: SettingsValues['audit'],
  context: ReadContext,
): Pick<AuditConfig, 'to' | 'otlp'> | undefined => {
  if (item.node.type === 'string') {
    const to = readDestination(item, context)
    return to && { to }
  }
  if (audit === undefined) return undefined
  const { to: place, otlp: collector } = Object.fromEntries(members(item))
  const to = readDestination(place, context)
  const otlp = readOtlp(collector, audit.otlp, context)
  return (to ?? otlp) && { to, ...(otlp && { otlp }) }
}

const readDestination = (item: TreeItem | undefined, context: ReadContext): AuditConfig['to'] => {
  const written: unknown = item?.node.value
  if (item === undefined || written === 'off') return undefined
  if (written === 'stderr') return written
  if (written === '')
    context.report.error(item, {
      message: 'the audit has no destination',
      fix: 'Write "off", "stderr", or the path of a file.',
    })
  return { file: resolve(context.folder, expandedPath(item, context)) }
}

const readOtlp = (
  item: TreeItem | undefined,
  values: NonNullable<SettingsValues['audit']>['otlp'],
  context: ReadContext,
): AuditConfig['otlp'] => {
  if (item === undefined || values === undefined) return undefined
  warnUnknown(members(item), KEYS.auditOtlp, NO_FOREIGN_KEYS, context.report)
  const collector = readCollector(item, values, 'until then the audit is off.', context)
  return collector && { ...collector, protocol: values.protocol ?? 'http/protobuf' }
}
