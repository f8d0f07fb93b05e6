import type { KeptDifference } from '../../catalog/exposure.js'
import { aliasOf, exposedName } from '../../catalog/names/names.js'
import type { View } from '../../catalog/views/view.js'
import type { ServerConfig } from '../../config/types.js'
import type { SentServer } from '../../kernel/definitions.js'
import { type JsonText, memberOf, stringOf, textOf, valueOf } from '../../kernel/json/text.js'
import type { Logger } from '../../kernel/logger.js'
import { type ModelText, modelTexts } from '../../kernel/model-texts.js'
import { isObject } from '../../kernel/object.js'
import { mask } from '../../kernel/secrets/mask.js'
import type { ServerStatus } from './status.js'

/** The result of probing a server, with its tools. Holds no secrets. */
export interface ServerProbe {
  readonly server: string
  readonly transport: ServerConfig['transport']['kind']
  readonly ms: number
  /** `ready`, a login reason, or `failed`. */
  readonly state: string
  readonly why: string | undefined
  /** The code of its absence. */
  readonly absence?: string | undefined
  /** Its last lines on stderr. */
  readonly stderrTail: readonly string[]
  /** The first non-JSON-RPC line of its stdout. */
  readonly noise: string | undefined
  /** Repairs of its lists, and omitted items. */
  readonly repairs: readonly ItemNote[]
  readonly instructionBytes: number
  readonly tools: readonly ProbedTool[]
  /** The differences from the lock file. Undefined without one. */
  readonly differences?: readonly Pick<KeptDifference, 'name' | 'change' | 'fields'>[] | undefined
  /** Its texts for models. */
  readonly texts: readonly ModelText[]
}

/** A repair of an item, or the reason why it was left out. */
export interface ItemNote {
  readonly item: string
  readonly message: string
  readonly isLeftOut: boolean
}

interface ProbedTool {
  /** The exposed name, and the same without truncation. */
  readonly name: string
  readonly long: string
  readonly descriptionBytes: number
  /** Size of name, description and schema. */
  readonly bytes: number
  readonly schema: unknown
  /** True if it has annotations about its effects. */
  readonly hasHints: boolean
  /** The configured views with this tool. */
  readonly views: readonly string[]
}

const isUnread = (status: ServerStatus | undefined): boolean =>
  status?.items !== undefined && status.tokens === undefined

const unread = (status: ServerStatus | undefined) => ({
  state: 'failed',
  why:
    status?.remarks.find(({ list }) => list === 'tools')?.message ??
    'its list of tools cannot be read: no answer in time, or an error',
})

/** Returns the state of a probed server. During a retry, a server may no longer report its first failure. */
export const probedState = (
  first: ServerStatus | undefined,
  last: ServerStatus | undefined,
  timeoutMs: number,
) => {
  const state = stateOf(last)
  if (state === 'ready')
    return { ...(isUnread(last) ? unread(last) : { state, why: undefined }), stderrTail: [] }
  const stderrTail = last?.stderr ?? first?.stderr ?? []
  const [why] = [last?.why, first?.why, last?.lastError?.message].filter(message => message !== undefined)
  const [absence] = [last, first].flatMap(status => status?.cause?.code ?? [])
  return { state, why: why ?? `no answer within ${timeoutMs / 1000} s`, absence, stderrTail }
}

const stateOf = (status: ServerStatus | undefined): string => {
  const state = status?.state ?? 'failed'
  return state === 'ready' || state === 'insufficient-scope' || /^(?:needs-|auth-)/.test(state)
    ? state
    : 'failed'
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint']

/** Returns a tool under its own name, with its exposed names. */
export const probedTool = (tool: JsonText, server: ServerConfig, views: readonly View[]): ProbedTool => {
  const names = exposedAs(stringOf(memberOf(tool, 'name')) ?? '', server)
  const description = stringOf(memberOf(tool, 'description')) ?? ''
  const input = memberOf(tool, 'inputSchema') ?? textOf({})
  const annotations = valueAt(tool, 'annotations')
  const descriptionBytes = Buffer.byteLength(description)
  return {
    ...names,
    descriptionBytes,
    bytes: Buffer.byteLength(names.name) + descriptionBytes + input.length,
    schema: valueOf(input),
    hasHints: isObject(annotations) && HINTS.some(hint => hint in annotations),
    views: views
      .filter(view => view.hasTool({ exposed: names.name, text: tool }))
      .map(({ rules }) => rules.name),
  }
}

const exposedAs = (own: string, { name: server, prefix, tools: { rename } }: ServerConfig) => {
  const shown = Object.hasOwn(rename, own) ? (rename[own] ?? own) : own
  if (prefix === false) return { name: shown, long: shown }
  const alias = aliasOf(server, prefix)
  return { name: exposedName(alias, shown), long: `${alias}__${shown}` }
}

const valueAt = (text: JsonText, key: string): unknown => {
  const member = memberOf(text, key)
  return member && valueOf(member)
}

/** Returns the texts of a server for models, masked. */
export const probedTexts = (sent: SentServer | undefined): readonly ModelText[] =>
  sent === undefined ? [] : modelTexts(sent).map(found => ({ ...found, text: mask(found.text) }))

/** Returns the line in a log record about non-JSON-RPC output. Undefined for other records. */
export const noiseIn = ({ line, doctor }: Readonly<Record<string, unknown>>): string | undefined =>
  doctor === 'D034' && typeof line === 'string' ? line : undefined

/** Maximum repairs of each server. */
const REPAIRS_MAX = 100

/** A logger that keeps the first non-JSON-RPC line and the remarks about items, which only the log has. */
export class ProbeLog implements Logger {
  noise: string | undefined
  readonly repairs: ItemNote[] = []

  debug(): void {
    // Ignored.
  }

  info(): void {
    // Ignored.
  }

  error(): void {
    // Ignored.
  }

  warn(facts: object, message: string): void {
    const { list, item, leftOut } = facts as Readonly<Record<string, unknown>>
    this.noise ??= noiseIn(facts as Readonly<Record<string, unknown>>)
    if (typeof list !== 'string' || typeof item !== 'string' || this.repairs.length >= REPAIRS_MAX) return
    this.repairs.push({ item, message, isLeftOut: leftOut === true })
  }

  child(): this {
    return this
  }
}
