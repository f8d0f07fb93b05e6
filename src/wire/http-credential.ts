import type { HttpHeaders, OutboundRequest } from './http.js'

type Headers = Readonly<Record<string, string>>

/** A refusal of a server: 401, or 403. */
export interface Refusal {
  readonly status: number
  readonly headers: HttpHeaders
  /** The headers that `authorize` gave the request. */
  readonly sent: Headers | undefined
  /** Whether the request was sent again already. */
  readonly isRepeated: boolean
}

/** PORT. What proves to one server who we are. */
export interface HttpCredential {
  /**
   * The headers that prove it for a request to be sent now; undefined if there are none to send. A promise
   * only while a token has to be got first; it rejects with a Fault if the server cannot be asked.
   */
  authorize(request: OutboundRequest): Headers | undefined | Promise<Headers | undefined>
  /**
   * Takes a refusal. Undefined: it has nothing to do with who we are. Else resolves when the request may be
   * sent once more, or rejects with the Fault that ends it.
   */
  refused(refusal: Refusal): Promise<void> | undefined
}
