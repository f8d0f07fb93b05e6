import type { Call, Client } from '../../model/links.js'
import { principalHash } from '../input-required/retry/request-states.js'
import type { Sealer } from '../input-required/retry/sealed-state.js'

/** A task as its server knows it. */
export interface OwnTask {
  /** The name of the server. */
  readonly server: string
  readonly id: string
}

/**
 * Converts the ids of tasks. The server's own id never reaches a client: several servers may use the same id,
 * and a server sees one principal, the proxy. Clients get it sealed with the name of its server, so that the
 * proxy keeps no data about it.
 */
export class TaskIds {
  readonly #sealer: Pick<Sealer, 'sealTask' | 'openTask'>

  constructor(sealer: Pick<Sealer, 'sealTask' | 'openTask'>) {
    this.#sealer = sealer
  }

  /** Returns the id of a task for its client. Throws a Fault if the server's own id is too long. */
  seal({ principal, serverRequests }: Client, { server, id }: OwnTask): string {
    return this.#sealer.sealTask({ server, id, principal: principalHash(principal), era: serverRequests })
  }

  /** Opens an id of a client; undefined unless it was sealed for this principal and era. */
  open({ client }: Pick<Call, 'client'>, text: string): OwnTask | undefined {
    const task = this.#sealer.openTask(text)
    const isOwn = task?.principal === principalHash(client.principal) && task.era === client.serverRequests
    return isOwn ? task : undefined
  }
}
