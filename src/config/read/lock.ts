import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { pointerSteps } from '../../kernel/json/pointer.js'
import { LOCK_FILE_BYTES, parseLockFile } from '../../kernel/lock-file.js'
import { readSmallFile } from '../file/small-file.js'
import { syntaxValueOf } from '../file/syntax.js'
import { itemAt, type TreeItem } from '../file/tree.js'
import { type SettingsValues, validateSettings } from '../schema/validate.js'
import type { LockConfig } from '../types.js'
import { type ReadContext, reportMisfits } from './entry.js'
import { expandedPath } from './variables.js'

/**
 * Reads `lock` and the file that it names. Any error, also an unknown key, makes all of it invalid, because
 * items that differ could be served.
 */
export const readLock = (
  items: ReadonlyMap<string, TreeItem>,
  context: ReadContext,
): LockConfig | undefined | 'invalid' => {
  const item = items.get('lock')
  if (item === undefined) return undefined
  const { report } = context
  const { errors } = report
  const settings = readSettings(item, context)
  if (settings === undefined || report.errors > errors) return 'invalid'
  context.files.add(settings.file)
  const content = context.ignoresLockFile === true ? NO_CONTENT : readContent(settings.file, item, context)
  return content === undefined ? 'invalid' : { ...settings, ...content }
}

const NO_CONTENT: Pick<LockConfig, 'digest' | 'locked'> = { digest: '', locked: new Map() }

const readSettings = (
  item: TreeItem,
  context: ReadContext,
): Omit<LockConfig, 'digest' | 'locked'> | undefined => {
  const { report } = context
  if (item.node.type === 'string') return settingsOf(expandedFile(item, context), {})
  const result = validateSettings({ lock: syntaxValueOf(item) })
  if (result.is !== 'fine') {
    reportMisfits(result.misfits, new Map([['lock', item]]), report)
    return undefined
  }
  const { lock = { file: '' } } = result.value
  return settingsOf(expandedFile(itemAt(item, ['file']), context), lock)
}

const expandedFile = (item: TreeItem, context: ReadContext): string =>
  resolve(context.folder, expandedPath(item, context))

const settingsOf = (
  file: string,
  {
    onChange = 'warn',
    onNew = onChange === 'warn' ? 'warn' : 'hide',
    servers = ['*'],
    ignore = [],
  }: Partial<NonNullable<SettingsValues['lock']>>,
) => ({ file, onChange, onNew, servers, ignore: ignore.map(pointerSteps) })

const readContent = (
  file: string,
  item: TreeItem,
  { report }: ReadContext,
): Pick<LockConfig, 'digest' | 'locked'> | undefined => {
  const found = readSmallFile(file, LOCK_FILE_BYTES)
  const locked = 'wrong' in found ? { why: `it ${found.wrong}` } : parseLockFile(found.text)
  if ('text' in found && !('why' in locked))
    return { digest: createHash('sha256').update(found.text).digest('base64url'), locked }
  report.error(item, {
    message: `the lock file ${file} cannot be used: ${'why' in locked ? locked.why : ''}`,
    fix: 'Restore it, or write it with "mcp-proxy lock" and review the changes.',
  })
  return undefined
}
