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
  const isShort = item?.node.type === 'string'
  if (item === undefined || (!isShort && audit === undefined)) return undefined
  const { errors } = context.report
  const { to: place, otlp: collector } = Object.fromEntries(members(item))
  const to = readDestination(isShort ? item : place, context)
  const otlp = readOtlp(collector, audit?.otlp, context)
  if (context.report.errors > errors || (to ?? otlp) === undefined) return undefined
  const { arguments: withArguments = auditArguments ?? false, strict: isStrict = false } = audit ?? {}
  return { to, withArguments, ...(isStrict && { isStrict }), ...(otlp && { otlp }) }
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
