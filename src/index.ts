import { createProxy as create } from './app/proxy.js'
import type { PublicOptions, PublicProxy } from './app/proxy-contract.js'
import type { ProxyConfig } from './config/types.js'

/** The public API: a proxy made of a configuration, for programs that embed it. */
export const createProxy: (config: ProxyConfig, options?: PublicOptions) => PublicProxy = create
export type { PublicOptions as ProxyOptions, PublicProxy as Proxy } from './app/proxy-contract.js'
export { loadConfig } from './config/load.js'
export { parseConfig } from './config/parse.js'
export type { Loaded, Problem, ProxyConfig, ServerConfig } from './config/types.js'
