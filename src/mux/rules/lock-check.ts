import type { Catalog } from '../../catalog/catalog.js'
import type { ItemLock } from '../../catalog/exposure.js'
import { Fault } from '../../kernel/faults.js'
import { shortName } from '../../kernel/secrets/mask.js'
import { failed } from '../../model/outcome.js'
import { type CallVerdict, NEXT, type RoutedRecord } from '../calls/call-record.js'
import { definedIn } from '../routes.js'
import type { CheckLock } from './gate.js'
import { refusal } from './refusals.js'

/**
 * Refuses calls of hidden items. A list from an earlier process is read from the server first, and so is one
 * that may have changed, if a changed item is not just reported.
 */
export const lockCheck =
  (catalog: Catalog): CheckLock =>
  record => {
    const { method, owner, client } = record
    const { server } = owner
    const list = definedIn(method)
    const lock = list && catalog.viewOf(server.options).exposure.lock
    if (list === undefined || lock === undefined) return NEXT
    const mayRead = lock.isEnforced || catalog.isUnread(server, client, list)
    const reading = mayRead ? catalog.readIfChanged(server, client, list) : undefined
    if (reading === undefined) return verdictOn(record)
    return reading.then(
      () => {
        const found = catalog.find(record, list, record.exposed)
        if (found === undefined) return failed(new Fault('invalid-params', unknown(list, record.exposed)))
        record.owner = found
        return verdictOn(record)
      },
      (thrown: unknown) => failed(Fault.from(thrown)),
    )
  }

const unknown = (list: 'tools' | 'prompts', name: string): string =>
  `Unknown ${list === 'tools' ? 'tool' : 'prompt'}: ${shortName(name, 128)}`

const verdictOn = ({ owner: { lock, server, own }, method }: RoutedRecord): CallVerdict =>
  lock?.isHidden === true ? failed(refusalOf(lock, `${server.name}/${own}`, method)) : NEXT

const refusalOf = ({ reason, fields }: ItemLock, item: string, method: string): Fault => {
  const what = method === 'tools/call' ? 'tool' : 'prompt'
  const state =
    reason === 'not-locked'
      ? `The ${what} is not in the lock file`
      : `The ${what} has changed since it was locked${fields.length === 0 ? '' : ` (${fields.join(', ')})`}`
  return refusal(
    reason,
    `${state}. Ask the operator to review it and run: mcp-proxy lock --accept ${shellWord(item)}`,
  )
}

/** Quotes a name, which the server chose, for a POSIX shell. */
const shellWord = (word: string): string =>
  /^[\w.@:/+-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
