import { editMember, mayContain } from '../../../kernel/json/edit.js'
import { type JsonText, mapElements, memberOf, ownText, textMember } from '../../../kernel/json/text.js'
import type { Logger } from '../../../kernel/logger.js'
import { sanitizeLine } from '../../../kernel/secrets/mask.js'
import { paramHeadersOf } from '../param-headers.js'

/** Bounds the schemas kept for one server; the oldest is forgotten first. */
const TOOLS_MAX = 10_000
const BYTES_MAX = 16 * 1024 * 1024
/** Removed tools are logged once each, up to this many. */
const NAMED_MAX = 1000
/** Bounds a name or a reason in the log. */
const SHOWN_LENGTH = 128

/**
 * The input schemas of a server's tools whose arguments are repeated in headers (server/tools,
 * "x-mcp-header").
 */
export class ToolSchemas {
  readonly #log: Logger
  readonly #schemas = new Map<string, JsonText>()
  readonly #named = new Set<string>()
  #bytes = 0

  constructor(log: Logger) {
    this.#log = log
  }

  /** Returns the `inputSchema` of a tool with such arguments. */
  of(tool: string): JsonText | undefined {
    return this.#schemas.get(tool)
  }

  /**
   * Learns from a page of `tools/list`; returns it without tools whose annotations are invalid over HTTP.
   */
  learn(page: JsonText): JsonText {
    // A page without the word changes nothing, unless a schema is known already.
    if (this.#schemas.size === 0 && !mayContain(page, 'header')) return page
    return editMember(page, 'tools', tools => mapElements(tools, tool => this.#learnTool(tool)))
  }

  #learnTool(tool: JsonText): JsonText | undefined {
    const name = textMember(tool, 'name')
    const schema = memberOf(tool, 'inputSchema')
    if (name === undefined || schema === undefined) return tool
    const { headers, invalid } = paramHeadersOf(schema)
    this.#forget(name)
    if (invalid.length > 0) {
      this.#leftOut(name, invalid)
      return undefined
    }
    if (headers.size > 0) this.#keep(name, schema)
    return tool
  }

  /** Keeps a copy, because a slice would retain the whole page. */
  #keep(name: string, schema: JsonText): void {
    this.#schemas.set(name, ownText(schema))
    this.#bytes += name.length + schema.length
    for (const oldest of this.#schemas.keys()) {
      if (this.#schemas.size <= TOOLS_MAX && this.#bytes <= BYTES_MAX) return
      this.#forget(oldest)
    }
  }

  #forget(name: string): void {
    const schema = this.#schemas.get(name)
    if (schema === undefined) return
    this.#schemas.delete(name)
    this.#bytes -= name.length + schema.length
  }

  #leftOut(name: string, invalid: readonly string[]): void {
    const tool = sanitizeLine(name, SHOWN_LENGTH)
    if (this.#named.has(tool) || this.#named.size >= NAMED_MAX) return
    this.#named.add(tool)
    const facts = { tool, why: invalid.map(problem => sanitizeLine(problem, SHOWN_LENGTH)) }
    this.#log.warn(facts, 'removed a tool with invalid header annotations')
  }
}
