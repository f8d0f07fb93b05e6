import { Fault } from '../../../kernel/faults.js'
import { type JsonText, textMember, textOf } from '../../../kernel/json/text.js'
import type { TextSeal } from '../../../kernel/secrets/text-seal.js'
import type { ServerRequestMode } from '../../../model/links.js'

/** A task at a server. Its sealed form is the id that clients use; the server decides how long it lives. */
export interface SealedTask {
  /** The name of the server. */
  readonly server: string
  /** The server's own id. */
  readonly id: string
  /** The hash of the principal. */
  readonly principal: string
  /** The mode of the peers that may use it: the tasks of the two eras differ. */
  readonly era: ServerRequestMode
}

const PREFIX = 't1.'
const ID_MAX_BYTES = 1024
/** No sealed id is longer, even if each character of its parts has to be escaped. */
const TEXT_MAX_CHARS = 16 * 1024

/** Seals the id of a task. Throws a Fault if the server's own id is too long. */
export const sealTask = (seal: TextSeal, { server, id, principal, era }: SealedTask): string => {
  if (Buffer.byteLength(id) > ID_MAX_BYTES)
    throw new Fault('internal', `it created a task with an id of more than ${ID_MAX_BYTES} bytes`)
  const members = { k: 'task', sv: server, id, p: principal, e: era }
  return PREFIX + seal.seal(textOf(members))
}

/** Opens the id of a task; undefined if it is foreign or modified. `readable` checks the sealed JSON. */
export const openTask = (
  seal: TextSeal,
  text: string,
  readable: (plain: Buffer | undefined) => JsonText | undefined,
): SealedTask | undefined => {
  if (!text.startsWith(PREFIX) || text.length > TEXT_MAX_CHARS) return undefined
  const plain = readable(seal.open(text.slice(PREFIX.length)))
  if (plain === undefined) return undefined
  const [kind, server, id, principal, era] = ['k', 'sv', 'id', 'p', 'e'].map(key => textMember(plain, key))
  if (kind !== 'task' || server === undefined || id === undefined || principal === undefined) return undefined
  return era === 'pushed' || era === 'returned' ? { server, id, principal, era } : undefined
}
