/** The public API: a proxy made of a configuration, for programs that embed it. */
export { createProxy, type Proxy, type ProxyOptions } from './app/proxy.js'
export { loadConfig } from './config/load.js'
export { parseConfig } from './config/parse.js'
export type { Loaded, Problem, ProxyConfig, ServerConfig } from './config/types.js'
