import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomId } from '../kernel/ids.js'
import { isObject } from '../kernel/object.js'

/** The header that carries what both sides say of themselves. */
export const HELLO_HEADER = 'mcp-proxy-hello'
/** What a connection turns into: MCP messages, one a line, both ways. */
export const LINES_PROTOCOL = 'mcp-lines'
/**
 * Sent last by a daemon that ends and has begun nothing that it has not answered, with its refusal; for the
 * shim alone.
 */
export const ENDED_METHOD = 'notifications/mcp-proxy/ended'
export const CONNECT_PATH = '/v1/connect'

/** What a program says of itself that wants something of a daemon. Meanings of members never change. */
export interface Hello {
  readonly version: string
  readonly pid: number
  readonly client?: string | undefined
  readonly view?: string | undefined
  readonly workspace?: string | undefined
  /** What its client calls the folder of the project, where `workspace` is none. */
  readonly project?: string | undefined
  readonly cwd?: string | undefined
  /** With `proof`, where a token proves who is who. */
  readonly nonce?: string | undefined
  readonly proof?: string | undefined
}

const OWN_PROGRAM = 'mcp-proxy '

/** Whether a hello comes from a verb of this program, such as `mcp-proxy call`, not from a client's shim. */
export const isOwnProgram = ({ client }: Pick<Hello, 'client'>): boolean =>
  client?.startsWith(OWN_PROGRAM) === true

/** What the daemon says of itself. */
export interface Welcome {
  readonly version: string
  readonly pid: number
  readonly session: string
  /** The names of variables that its configuration lacks. */
  readonly want: readonly string[]
  /**
   * Who keeps it, so that it does not end for want of clients: a manager of services, such as `systemd`,
   * which starts it again; `serve` or `keep`, a person.
   */
  readonly kept?: string | undefined
  /** What errors of this daemon carry for calls that it did not begin because it ends. */
  readonly refusal?: string | undefined
  readonly proof?: string | undefined
}

/** Whether a manager of services keeps a daemon, and starts it again. */
export const isService = ({ kept }: Pick<Welcome, 'kept'>): boolean =>
  kept !== undefined && kept !== 'serve' && kept !== 'keep'

/** Why a daemon serves nobody; `retryMs` if it is worth trying again. */
export interface Refusal {
  readonly no: 'draining' | 'view' | 'token' | 'busy'
  readonly say: string
  readonly retryMs?: number | undefined
}

/** Beside it there is room for the rest of a head, of which a daemon takes 8 KiB. */
const HELLO_BYTES = 7 * 1024
/** Paths may have 4 KiB each: what can be missed first is left out first. */
const SPARE = ['cwd', 'project', 'client', 'workspace'] as const

export const encodeHello = (hello: Hello): string => {
  const encoded = (left: Hello): string => Buffer.from(JSON.stringify(left)).toString('base64url')
  let left = hello
  for (const name of SPARE) if (encoded(left).length > HELLO_BYTES) left = { ...left, [name]: undefined }
  return encoded(left)
}

/** Undefined for anything but a hello. */
export const decodeHello = (text: string | undefined): Hello | undefined => {
  const value = parsed(Buffer.from(text ?? '', 'base64url').toString())
  if (typeof value['version'] !== 'string' || typeof value['pid'] !== 'number') return undefined
  return {
    version: value['version'],
    pid: value['pid'],
    client: textAt(value, 'client'),
    view: textAt(value, 'view'),
    workspace: textAt(value, 'workspace'),
    project: textAt(value, 'project'),
    cwd: textAt(value, 'cwd'),
    nonce: textAt(value, 'nonce'),
    proof: textAt(value, 'proof'),
  }
}

/** As JSON: headers are ASCII. */
export const encodeWelcome = (welcome: Welcome): string =>
  JSON.stringify(welcome).replace(/[^ -~]/g, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

export const decodeWelcome = (text: string | undefined): Welcome | undefined => {
  const value = parsed(text ?? '')
  const { version, pid, session, want } = value
  if (typeof version !== 'string' || typeof pid !== 'number' || typeof session !== 'string') return undefined
  return {
    version,
    pid,
    session,
    want: Array.isArray(want) ? want.filter(name => typeof name === 'string') : [],
    kept: textAt(value, 'kept'),
    refusal: textAt(value, 'refusal'),
    proof: textAt(value, 'proof'),
  }
}

export const decodeRefusal = (text: string): Partial<Refusal> => {
  const value = parsed(text)
  const { no, say, retryMs } = value
  return {
    ...(no === 'draining' || no === 'view' || no === 'token' || no === 'busy' ? { no } : {}),
    ...(typeof say === 'string' ? { say } : {}),
    ...(typeof retryMs === 'number' ? { retryMs } : {}),
  }
}

const parsed = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : {}
  } catch {
    return {}
  }
}

const textAt = (value: Record<string, unknown>, key: string): string | undefined => {
  const text = value[key]
  return typeof text === 'string' ? text : undefined
}

type Side = 'client' | 'daemon'

const proofOf = (token: Buffer, side: Side, nonce: string): string =>
  createHmac('sha256', token).update(`${side}\0${nonce}`).digest('base64url')

/** What a hello carries to prove that its sender knows the token. */
export const newProof = (token: Buffer | undefined): Pick<Hello, 'nonce' | 'proof'> => {
  if (token === undefined) return {}
  const nonce = randomId()
  return { nonce, proof: proofOf(token, 'client', nonce) }
}

/** What the daemon answers to it. */
export const counterProof = (token: Buffer | undefined, { nonce = '' }: Pick<Hello, 'nonce'>) =>
  token === undefined ? {} : { proof: proofOf(token, 'daemon', nonce) }

/** Whether the other side knows the token; where there is none nothing needs to be proved. */
export const isProven = (
  token: Buffer | undefined,
  from: Side,
  { nonce = '', proof = '' }: { readonly nonce?: string | undefined; readonly proof?: string | undefined },
): boolean => {
  if (token === undefined) return true
  const expected = Buffer.from(proofOf(token, from, nonce))
  const found = Buffer.from(proof)
  return nonce !== '' && found.length === expected.length && timingSafeEqual(found, expected)
}

/** Whether release `one` is newer than release `other`; builds and pre-releases of a release are the same. */
export const isNewer = (one: string, other: string): boolean => {
  const [ours, theirs] = [one, other].map(version => version.split(/[-+]/, 1).join().split('.').map(Number))
  for (const [at, part] of (ours ?? []).entries()) {
    const than = theirs?.[at] ?? 0
    if (part !== than) return part > than
  }
  return false
}
