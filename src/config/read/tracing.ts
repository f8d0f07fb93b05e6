import { members, type TreeItem } from '../file/tree.js'
import type { SettingsValues } from '../schema/validate.js'
import type { TracingConfig } from '../types.js'
import { readCollector } from './collector.js'
import type { ReadContext } from './entry.js'
import { readPlain } from './plain.js'

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
  const collector = readCollector(item, values, OFF, context)
  return collector && { ...readPlain('tracing', { items: members(item), values, report }), ...collector }
}

const readWord = (item: TreeItem, { report }: ReadContext): 'env' | undefined => {
  if (item.node.value === 'env') return 'env'
  report.error(item, {
    message: 'invalid value of "tracing"',
    fix: `Write "env", or an object such as { "endpoint": "http://127.0.0.1:4318" }; ${OFF}`,
  })
  return undefined
}
