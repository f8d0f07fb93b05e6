import { fileURLToPath } from 'node:url'

const script = fileURLToPath(new URL('../../bin/mcp-proxy.js', import.meta.url))

const json = (value: unknown): string => JSON.stringify(value, null, 2)

/** What to paste into clients so that they find us over HTTP. */
export const httpSnippets = (name: string, url: string): string => {
  const entry = { [name]: { type: 'http', url } }
  return [
    'Claude Code:',
    `  claude mcp add --transport http ${name} ${url}`,
    '',
    'Clients with "mcpServers" (.mcp.json and others):',
    indented(json({ mcpServers: entry })),
    '',
    'VS Code (.vscode/mcp.json):',
    indented(json({ servers: entry })),
  ].join('\n')
}

/**
 * What to paste into clients that start their servers themselves. The paths are absolute: programs with a window do not
 * have the PATH of a shell.
 */
export const stdioSnippet = (name: string, args: readonly string[]): string =>
  [
    'Clients that start their servers themselves ("mcpServers"):',
    indented(json({ mcpServers: { [name]: { command: process.execPath, args: [script, ...args] } } })),
  ].join('\n')

const indented = (text: string): string => text.replace(/^/gm, '  ')
