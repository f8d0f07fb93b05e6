import { Issuer } from '../../auth/resource-server/issuer.js'
import { Issuers } from '../../auth/resource-server/issuers.js'
import { TokenChecks } from '../../auth/resource-server/token-checks.js'
import type { ProxyConfig, TokenIssuer } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import { createGuardedFetch } from '../../transport/http/guarded-fetch.js'

interface IssuersContext {
  readonly bounds: LimitCounters
  readonly clock: Clock
  readonly log: Logger
  readonly config: () => ProxyConfig
}

/** Creates the configured issuers, which check tokens and fetch metadata. */
export const createIssuers = (rules: readonly TokenIssuer[], context: IssuersContext) => {
  const { bounds, clock, config, log } = context
  const proxy = (): ProxyConfig['proxy'] => config().proxy
  const issuers = rules.map(rule => {
    const { issuer, jwksUri = issuer, allowHttp } = rule
    const trusted = [issuer, jwksUri]
    return new Issuer(rule, createGuardedFetch({ trusted, allowHttp, clock, proxy }), clock)
  })
  return {
    checks: new TokenChecks(new Issuers({ issuers, wallMs: Date.now, log }), clock, bounds),
    metadata: () => (issuers.length === 1 ? issuers[0]?.metadataText() : undefined),
  }
}
