import { Issuer } from '../../auth/resource-server/issuer.js'
import { Issuers } from '../../auth/resource-server/issuers.js'
import { TokenChecks } from '../../auth/resource-server/token-checks.js'
import type { TokenIssuer } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { createGuardedFetch } from '../../transport/http/guarded-fetch.js'

interface IssuersContext {
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
}

/** Creates the configured issuers, which check tokens and fetch metadata. */
export const createIssuers = (rules: readonly TokenIssuer[], { bounds, clock, log }: IssuersContext) => {
  const issuers = rules.map(rule => {
    const { issuer, jwksUri = issuer, allowHttp } = rule
    return new Issuer(rule, createGuardedFetch({ trusted: [issuer, jwksUri], allowHttp, clock }), clock)
  })
  return {
    checks: new TokenChecks(new Issuers({ issuers, wallMs: Date.now, log }), clock, bounds),
    metadata: () => (issuers.length === 1 ? issuers[0]?.metadataText() : undefined),
  }
}
