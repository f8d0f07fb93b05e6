import type { JsonText } from '../kernel/json-text.js'
import { errorText } from '../model/fault-table.js'
import type { HttpResponder } from '../wire/http.js'
import { encodeRefusal } from '../wire/jsonrpc.js'

/** What an HTTP refusal may say beside its words. */
interface RefusalDetails {
  readonly code?: number
  readonly id?: JsonText | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** An HTTP refusal; its body is a JSON-RPC error (transports, "Sending Messages to the Server", item 4). */
export const refuse = (
  responder: HttpResponder,
  status: number,
  words: string,
  { code = -32600, id, headers }: RefusalDetails = {},
): void => refuseWith(responder, status, { id, error: errorText(code, words) }, headers)

/** An HTTP refusal with an error that is there already. */
export const refuseWith = (
  responder: HttpResponder,
  status: number,
  { id, error }: { readonly id: JsonText | undefined; readonly error: JsonText },
  headers?: Readonly<Record<string, string>>,
): void => {
  responder.send(status, { 'content-type': 'application/json', ...headers }, encodeRefusal(id, error))
}
