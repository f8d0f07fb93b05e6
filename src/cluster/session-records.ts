import type { Principal } from '../kernel/caller.js'
import { type JsonText, readJson, textOf } from '../kernel/json/text.js'
import type { ClientCapabilities } from '../model/peer.js'
import { LEGACY_REVISIONS, type LegacyRevision } from '../model/revision.js'
import type { SessionRecord } from './adoption/session-state.js'
import type { KeyRing } from './key-ring.js'

/** New members keep the version. Replicas skip records with a higher version. */
const VERSION = 1

interface Written {
  readonly n: number
  readonly p: Principal
  readonly v?: string
  readonly i: string
  readonly r: readonly (readonly [method: string, params: string])[]
  readonly s?: readonly (readonly [server: string, session: string])[]
}

/** Seals a record for the engine, bound to this `sid`. */
export const sealRecord = (ring: KeyRing, sid: string, record: SessionRecord): Buffer => {
  const { principal, view, introduction, requests, servers } = record
  const written: Written = {
    ...{ n: VERSION, p: principal },
    ...(view !== undefined && { v: view }),
    i: introduction.toString(),
    r: requests.map(({ method, params }) => [method, params.toString()] as const),
    ...(servers.length > 0 && { s: servers.map(([name, session]) => [name, session.toString()] as const) }),
  }
  return ring.seal('record', `session ${sid}`, Buffer.from(JSON.stringify(written)))
}

/** Returns undefined if the record cannot be opened or has another version. */
export const openRecord = (ring: KeyRing, sid: string, sealed: Buffer): SessionRecord | undefined => {
  const plain = ring.open('record', `session ${sid}`, sealed)
  // Only replicas have the key, so the content is trusted.
  const written = plain && (JSON.parse(plain.toString()) as Written)
  if (written?.n !== VERSION) return undefined
  const { p, v, i, r, s = [] } = written
  const text = (json: string): JsonText => readJson(Buffer.from(json))
  const requests = r.map(([method, params]) => ({ method, params: text(params) }))
  const servers = s.map(([name, session]) => [name, text(session)] as const)
  return { principal: p, view: v, introduction: text(i), requests, servers }
}

const BITS = {
  roots: 1,
  rootsChange: 2,
  sampling: 4,
  samplingTools: 8,
  samplingContext: 16,
  elicitation: 32,
  url: 64,
  bare: 128,
} as const

/** Encodes the revision (high byte) and the declared client capabilities (low byte) for a session id. */
export const sessionFactsOf = (
  revision: LegacyRevision,
  { roots, sampling, elicitation }: ClientCapabilities,
): number => {
  const declared: Readonly<Record<keyof typeof BITS, boolean>> = {
    roots: roots !== undefined,
    rootsChange: roots?.listChanged === true,
    sampling: sampling !== undefined,
    samplingTools: sampling?.tools === true,
    samplingContext: sampling?.context === true,
    elicitation: elicitation !== undefined,
    url: elicitation?.url === true,
    bare: elicitation?.isBare === true,
  }
  const names = Object.keys(BITS) as (keyof typeof BITS)[]
  const bits = names.reduce((sum, name) => sum | (declared[name] ? BITS[name] : 0), 0)
  return (LEGACY_REVISIONS.indexOf(revision) << 8) | bits
}

/** Rebuilds a record from a session id alone. */
export const rebuiltRecord = (
  facts: number,
  of: Pick<SessionRecord, 'principal' | 'view'>,
): SessionRecord => {
  const has = (bit: number): boolean => (facts & bit) !== 0
  const { sampling, elicitation, roots, rootsChange, samplingTools, samplingContext, url, bare } = BITS
  const form = has(bare) ? {} : { form: {}, ...(has(url) && { url: {} }) }
  const capabilities = {
    ...(has(roots) && { roots: { ...(has(rootsChange) && { listChanged: true }) } }),
    ...(has(sampling) && {
      sampling: { ...(has(samplingTools) && { tools: {} }), ...(has(samplingContext) && { context: {} }) },
    }),
    ...(has(elicitation) && { elicitation: form }),
  }
  const protocolVersion = LEGACY_REVISIONS[facts >> 8] ?? '2025-11-25'
  const clientInfo = { name: 'unknown', version: '0' }
  return {
    ...of,
    introduction: textOf({ protocolVersion, capabilities, clientInfo }),
    requests: [],
    servers: [],
  }
}
