import type { Caller } from '../../kernel/caller.js'
import { matcherOf } from '../../kernel/globs.js'
import type { Logger } from '../../kernel/logger.js'
import type { Access } from '../../model/access.js'

/** `access` of a server in the configuration. */
interface AccessConfig {
  /** Scopes required to see the server at all. */
  readonly see: readonly string[]
  /** Globs of the server's own tool names, with further scopes required for a call. */
  readonly call: readonly (readonly [glob: string, scopes: readonly string[]])[]
}

const hasAll = ({ scopes }: Caller, needed: readonly string[]): boolean =>
  scopes === undefined || needed.every(scope => scopes.has(scope))

/**
 * Creates the access check of a server; undefined if all authenticated callers have access. Logs calls that
 * need more scopes.
 */
export const accessOf = ({ see, call }: AccessConfig, log: Logger): Access | undefined => {
  if (see.length === 0 && call.length === 0) return undefined
  const rules = call.map(([glob, scopes]) => ({ matches: matcherOf([glob]), scopes }))
  return {
    sees: caller => hasAll(caller, see),
    lacking(caller, tool) {
      if (caller.scopes === undefined) return undefined
      const needed = rules.flatMap(({ matches, scopes }) => (matches(tool) ? scopes : []))
      if (hasAll(caller, needed)) return undefined
      const wanted = [...new Set(needed)]
      const { principal, scopes: has } = caller
      log.info({ principal, tool, wanted, has: [...has] }, 'a call needs scopes that its token lacks')
      return wanted
    },
  }
}
