import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Returns the URL of a file in this package, independent of the bundle's location. */
export const packageFile = (path: string): URL =>
  new URL(path, pathToFileURL(createRequire(import.meta.url).resolve('mcp-proxy-daemon/package.json')))
