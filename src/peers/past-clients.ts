import { type Client, isOnePerson } from '../model/links.js'

/** Counts the clients that ever used a connection, and remembers the first one while it uses it. */
export class PastClients {
  #count = 0
  #first: Client | undefined

  get isNone(): boolean {
    return this.#count === 0
  }

  get first(): Client | undefined {
    return this.#first
  }

  /** The only client so far, if it is certainly one person and still uses the connection. */
  get only(): Client | undefined {
    return this.#count === 1 && this.#first !== undefined && isOnePerson(this.#first)
      ? this.#first
      : undefined
  }

  joined(client: Client): void {
    this.#count += 1
    if (this.#count === 1) this.#first = client
  }

  left(client: Client): void {
    if (this.#first === client) this.#first = undefined
  }
}
