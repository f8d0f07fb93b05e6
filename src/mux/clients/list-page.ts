import type { Catalog } from '../../catalog/catalog.js'
import { Fault } from '../../kernel/faults.js'
import { memberOf, stringOf } from '../../kernel/json/text.js'
import type { ListName } from '../../model/listing.js'
import { failed } from '../../model/outcome.js'
import type { CallRecord } from '../calls/call-record.js'
import { noMethod } from '../calls/unknown-method.js'
import type { Need } from '../routes.js'
import type { ClientRegistry } from './client-registry.js'
import type { ServerStarter } from './server-starter.js'

interface PageContext {
  readonly catalog: Catalog
  readonly starter: ServerStarter
  readonly clients: ClientRegistry
}

/** Answers a request for a page of a merged list. Never rejects. */
export const servePage = async (
  call: CallRecord,
  { list, needs }: { readonly list: ListName; readonly needs?: Need | undefined },
  { catalog, starter, clients }: PageContext,
): Promise<void> => {
  try {
    const text = call.params && memberOf(call.params, 'cursor')
    const cursor = stringOf(text)
    if (text !== undefined && cursor === undefined) throw new Fault('invalid-params', 'Invalid cursor')
    const waitMs = starter.waitMsFor(call)
    const { result, version, hints } = await catalog.page(call, list, cursor, waitMs)
    // Until now, a server could still bring it.
    if (needs !== undefined && !clients.isOffered(call, needs)) throw noMethod(call)
    if (cursor === undefined) clients.listed(call.client, list, version)
    call.end({ kind: 'result', result, hints })
  } catch (thrown) {
    call.end(failed(Fault.from(thrown)))
  }
}
