import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** The URL of a file of this package, wherever the build has put the module that asks. */
export const packageFile = (path: string): URL =>
  new URL(path, pathToFileURL(createRequire(import.meta.url).resolve('mcp-proxy-daemon/package.json')))
