import { createHmac, timingSafeEqual } from 'node:crypto'
import { randomId } from '../kernel/ids.js'
import { isObject } from '../kernel/object.js'

/** The header that carries `Hello` and `Welcome`. */
export const HELLO_HEADER = 'mcp-proxy-hello'
/** The upgrade protocol: MCP messages as lines, in both directions. */
export const LINES_PROTOCOL = 'mcp-lines'
/** Sent to the shim before a daemon ends, with its refusal, if no request is unanswered or partly done. */
export const ENDED_METHOD = 'notifications/mcp-proxy/ended'
export const CONNECT_PATH = '/v1/connect'

/** Sent by a program that connects to a daemon. Members never change their meaning. */
export interface Hello {
  readonly version: string
  readonly pid: number
  readonly client?: string | undefined
  readonly view?: string | undefined
  readonly workspace?: string | undefined
  /** Project folder as named by the client, if it is not a usable `workspace`. */
  readonly project?: string | undefined
  readonly cwd?: string | undefined
  /** Set with `proof` where a token authenticates both sides. */
  readonly nonce?: string | undefined
  readonly proof?: string | undefined
}

const OWN_PROGRAM = 'mcp-proxy '

/** Reports whether a hello comes from a command such as `mcp-proxy call`, not from a client's shim. */
export const isOwnProgram = ({ client }: Pick<Hello, 'client'>): boolean =>
  client?.startsWith(OWN_PROGRAM) === true

/** The daemon's answer to a `Hello`. */
export interface DaemonWelcome {
  readonly version: string
  readonly pid: number
  readonly session: string
  /** Names of variables that the configuration needs. */
  readonly want: readonly string[]
  /**
   * Set if the daemon stays without clients: by a service manager such as `systemd`, which restarts it, or by
   * a user (`serve`, `keep`).
   */
  readonly kept?: string | undefined
  /** Marks errors of calls that the daemon did not start because it ends. */
  readonly refusal?: string | undefined
  readonly proof?: string | undefined
}

/** Reports whether a service manager keeps the daemon and restarts it. */
export const isService = ({ kept }: Pick<DaemonWelcome, 'kept'>): boolean =>
  kept !== undefined && kept !== 'serve' && kept !== 'keep'

/** Reason why a daemon refuses a client; `retryMs` is set if a retry may succeed. */
export interface HelloRefusal {
  readonly no: 'draining' | 'view' | 'token' | 'busy'
  readonly say: string
  readonly retryMs?: number | undefined
}

/** Leaves room for the other headers, within the daemon's limit of 8 KiB. */
const HELLO_BYTES = 7 * 1024
/** Members to omit if the hello is too long, least important first; paths may have 4 KiB each. */
const SPARE = ['cwd', 'project', 'client', 'workspace'] as const

export const encodeHello = (hello: Hello): string => {
  const encoded = (left: Hello): string => Buffer.from(JSON.stringify(left)).toString('base64url')
  let left = hello
  for (const name of SPARE) if (encoded(left).length > HELLO_BYTES) left = { ...left, [name]: undefined }
  return encoded(left)
}

/** Decodes a hello; returns undefined if it is invalid. */
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

/** Encodes a welcome as ASCII JSON for a header. */
export const encodeWelcome = (welcome: DaemonWelcome): string =>
  JSON.stringify(welcome).replace(/[^ -~]/g, sign => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)

export const decodeWelcome = (text: string | undefined): DaemonWelcome | undefined => {
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

export const decodeRefusal = (text: string): Partial<HelloRefusal> => {
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

/** Creates a nonce and the proof that the sender knows the token. */
export const newProof = (token: Buffer | undefined): Pick<Hello, 'nonce' | 'proof'> => {
  if (token === undefined) return {}
  const nonce = randomId()
  return { nonce, proof: proofOf(token, 'client', nonce) }
}

/** Returns the daemon's proof for a hello. */
export const counterProof = (token: Buffer | undefined, { nonce = '' }: Pick<Hello, 'nonce'>) =>
  token === undefined ? {} : { proof: proofOf(token, 'daemon', nonce) }

/** Reports whether the other side proved that it knows the token; true if there is no token. */
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

/** Reports whether release `one` is newer than `other`, ignoring builds and pre-releases. */
export const isNewer = (one: string, other: string): boolean => {
  const [ours, theirs] = [one, other].map(version => version.split(/[-+]/, 1).join().split('.').map(Number))
  for (const [at, part] of (ours ?? []).entries()) {
    const than = theirs?.[at] ?? 0
    if (part !== than) return part > than
  }
  return false
}
