import type { HttpHeaders, OutboundRequest } from './http.js'

type Headers = Readonly<Record<string, string>>

/** A server's rejection of a credential: 401 or 403. */
export interface CredentialRefusal {
  readonly status: number
  readonly headers: HttpHeaders
  /** The headers that `authorize` returned for the request. */
  readonly sent: Headers | undefined
  /** True if the request was already repeated. */
  readonly isRepeated: boolean
}

/** PORT. Authenticates the proxy to one server. */
export interface HttpCredential {
  /**
   * Returns the headers for a request to be sent now; undefined if none. A promise only while a token has to
   * be obtained; rejects with a Fault if that fails.
   */
  authorize(request: OutboundRequest): Headers | undefined | Promise<Headers | undefined>
  /**
   * Handles a rejection. Returns undefined if it is unrelated to the credential. Otherwise resolves when the
   * request may be repeated once, or rejects with the final Fault.
   */
  refused(refusal: CredentialRefusal): Promise<void> | undefined
}
