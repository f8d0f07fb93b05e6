import { BlockList, isIP } from 'node:net'
import { bareHost, portOf } from '../url-address.js'
import { parseNetwork } from './networks.js'

/** An HTTP proxy on the way to other machines. */
export interface ForwardProxy {
  /** With a scheme. May hold a user and password. */
  readonly url: string
  /** The setting that names it: a variable, or the key `proxy`. */
  readonly from: string
}

/** The forward proxies for requests, by the scheme of the URL. */
export interface ProxyRules {
  readonly http?: ForwardProxy | undefined
  readonly https?: ForwardProxy | undefined
  /** The value of `NO_PROXY`. */
  readonly exempt?: string | undefined
}

/** The reason in the data of a fault if a forward proxy failed. */
export const PROXY_FAILED = 'proxy'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the rules of an explicit setting, which has no exemptions. */
export const proxyRulesFor = (address: string): ProxyRules => {
  const proxy = { url: withScheme(address), from: '"proxy"' }
  return { http: proxy, https: proxy }
}

/**
 * Returns the rules of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; undefined if no proxy is set. As in curl,
 * the lower-case variable takes precedence, and an empty one counts as absent.
 */
export const proxyRulesOf = (env: Environment): ProxyRules | undefined => {
  const http = proxyIn(env, 'HTTP_PROXY')
  const https = proxyIn(env, 'HTTPS_PROXY')
  if (http === undefined && https === undefined) return undefined
  return { http, https, exempt: variableIn(env, 'NO_PROXY')?.value }
}

/** Returns the proxy for a URL; undefined if it is reached directly. */
export const proxyFor = (rules: ProxyRules | undefined, url: string): ForwardProxy | undefined => {
  if (rules === undefined || !URL.canParse(url)) return undefined
  const target = new URL(url)
  const proxy = /^(?:https|wss):$/.test(target.protocol) ? rules.https : rules.http
  return proxy === undefined || isExempt(target, rules.exempt ?? '') ? undefined : proxy
}

/** Returns the URL of a proxy if it is one of HTTP or HTTPS, also without its scheme. */
export const proxyUrl = (address: string): URL | undefined => {
  const text = withScheme(address)
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  return (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '' ? url : undefined
}

const withScheme = (address: string): string => (address.includes('://') ? address : `http://${address}`)

const variableIn = (env: Environment, name: string): { name: string; value: string } | undefined => {
  for (const each of [name.toLowerCase(), name]) {
    const value = env[each]?.trim()
    if (value !== undefined && value !== '') return { name: each, value }
  }
  return undefined
}

const proxyIn = (env: Environment, name: string): ForwardProxy | undefined => {
  const found = variableIn(env, name)
  return found && { url: withScheme(found.value), from: found.name }
}

/** Matches `NO_PROXY`: `*`, domains with their subdomains, addresses, networks; each may have a port. */
const isExempt = (target: URL, exempt: string): boolean => {
  const host = plainHost(target.hostname)
  const port = portOf(target)
  return exempt
    .split(/[\s,]+/)
    .filter(entry => entry !== '')
    .some(entry => {
      const { name, onlyPort } = entryOf(entry)
      return (onlyPort === undefined || Number(onlyPort) === port) && isMeant(name, host)
    })
}

const plainHost = (host: string): string => bareHost(host.toLowerCase()).replace(/\.$/, '')

/** Splits `host:port`; an IPv6 address with a port has brackets. */
const entryOf = (entry: string): { readonly name: string; readonly onlyPort: string | undefined } => {
  const [, name = entry, onlyPort] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? []
  return { name: plainHost(name), onlyPort }
}

const isMeant = (name: string, host: string): boolean => {
  if (name === '*') return true
  const version = isIP(host)
  if (version === 0) {
    const domain = name.replace(/^\*?\./, '')
    return domain !== '' && (host === domain || host.endsWith(`.${domain}`))
  }
  const network = parseNetwork(name)
  if (network === undefined) return false
  const list = new BlockList()
  list.addSubnet(...network)
  return list.check(host, version === 4 ? 'ipv4' : 'ipv6')
}
