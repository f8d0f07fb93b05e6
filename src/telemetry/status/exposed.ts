import { textMember } from '../../kernel/json/text.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Client } from '../../model/links.js'
import type { Router } from '../../mux/router.js'

const NAME_BYTES = 128
/** Limits the client names kept apart, which clients choose. */
const MOST = 100

/** The tool exposure of clients with the same name and view. */
export interface Exposed {
  /** The name that they send, masked. */
  readonly client: string
  readonly view: string
  readonly mode: 'direct' | 'search'
  readonly why: string
  readonly clients: number
}

/** Returns the tool exposure of a client. Undefined until it is chosen, and if search is off. */
export const exposedTo = ({ catalog }: Router, client: Client): Omit<Exposed, 'clients'> | undefined => {
  const choice = client.via === undefined ? undefined : catalog.choiceOf(client)
  if (choice === undefined) return undefined
  const name = sanitizeLine(textMember(client.info, 'name') ?? '', NAME_BYTES)
  return { client: name, view: catalog.viewNameOf(client), mode: choice.mode, why: choice.why }
}

/** Returns the tool exposure of all clients, grouped. */
export const exposed = (router: Router): readonly Exposed[] => {
  const found = new Map<string, Exposed>()
  for (const client of router.clients) {
    const one = exposedTo(router, client)
    if (one === undefined) continue
    const key = JSON.stringify(one)
    const known = found.get(key)
    if (known === undefined && found.size >= MOST) continue
    found.set(key, { ...one, clients: (known?.clients ?? 0) + 1 })
  }
  return [...found.values()]
}
