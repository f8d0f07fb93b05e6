/** Our npm package. It is not published, so no command may fetch it from a registry by its name. */
export const PACKAGE = { name: 'mcp-proxy-daemon', isPublished: false } as const
