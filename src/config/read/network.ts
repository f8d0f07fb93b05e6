import { type ProxyRules, proxyRulesFor, proxyRulesOf, proxyUrl } from '../../kernel/machine/forward-proxy.js'
import type { ProblemText } from '../file/problem.js'
import type { TreeItem } from '../file/tree.js'
import type { UrlTransport } from '../types.js'
import { readServerTls } from './certificates.js'
import type { ReadContext, ServerEntry } from './entry.js'
import { checkForwarded } from './forward-headers.js'
import { expandedWhole } from './variables.js'

/** Reads `proxy`; without it, the variables `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY` apply. */
export const readProxy = (item: TreeItem | undefined, context: ReadContext): ProxyRules | undefined => {
  if (item === undefined) return proxyRulesOf(context.env)
  if (item.node.value === false) return undefined
  const { report } = context
  const { errors } = report
  const text = expandedWhole(String(item.node.value), item, context).trim()
  if (report.errors > errors) return undefined
  if (proxyUrl(text) !== undefined) return proxyRulesFor(text)
  report.error(item, NO_PROXY_ADDRESS)
  return undefined
}

const NO_PROXY_ADDRESS: ProblemText = {
  message: 'this is not the address of an HTTP proxy',
  fix: 'Write "http://HOST:PORT" or "https://HOST:PORT", with USER:PASSWORD@ if needed. SOCKS is not supported.',
}

/** Reads the settings of the connections to a remote server; `url` is its address. */
export const readNetwork = (
  entry: ServerEntry,
  url: string,
  context: ReadContext,
): Pick<UrlTransport, 'proxy' | 'tls' | 'forwardHeaders'> => {
  const { members: folded } = entry
  const proxyItem = folded.get('proxy')
  const proxy = proxyItem === undefined ? context.proxy : readProxy(proxyItem, context)
  const tlsItem = folded.get('tls')
  const tls = tlsItem && readServerTls(tlsItem, url, context)
  return { ...(proxy && { proxy }), ...(tls && { tls }), ...readForwardHeaders(entry, url, context) }
}

/** Reads the patterns of client headers that a server gets; `url` is its address. */
export const readForwardHeaders = (
  { members: folded, values }: ServerEntry,
  url: string,
  context: ReadContext,
): Pick<UrlTransport, 'forwardHeaders'> => {
  const item = folded.get('forwardHeaders')
  if (item !== undefined) checkForwarded(item, values.forwardHeaders ?? [], url, context)
  const forwardHeaders = values.forwardHeaders?.map(name => name.toLowerCase())
  return forwardHeaders === undefined || forwardHeaders.length === 0 ? {} : { forwardHeaders }
}
