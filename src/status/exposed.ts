import { textMember } from '../kernel/json/text.js'
import type { Client } from '../model/links.js'
import type { Router } from '../mux/router.js'
import { sanitizeLine } from '../secrets/mask.js'

const NAME_BYTES = 128
/** Clients choose their names: so many are told apart. */
const MOST = 100

/** How clients of one name and view are shown tools. */
export interface Exposed {
  /** What they call themselves; masked. */
  readonly client: string
  readonly view: string
  readonly mode: 'direct' | 'search'
  readonly why: string
  readonly clients: number
}

/** How a client is shown tools; undefined while that is not chosen, and where nothing is ever searched. */
export const exposedTo = ({ catalog }: Router, client: Client): Omit<Exposed, 'clients'> | undefined => {
  const choice = client.via === undefined ? undefined : catalog.choiceOf(client)
  if (choice === undefined) return undefined
  const name = sanitizeLine(textMember(client.info, 'name') ?? '', NAME_BYTES)
  return { client: name, view: catalog.viewNameOf(client), mode: choice.mode, why: choice.why }
}

/** The same of all clients, those together that are shown the same. */
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
