/** The URL of a file of this package, wherever the build has put the module that asks. */
export const packageFile = (path: string): URL =>
  new URL(path, import.meta.resolve('mcp-proxy-daemon/package.json'))
