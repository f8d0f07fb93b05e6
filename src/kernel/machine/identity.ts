import { readFileSync } from 'node:fs'
import { packageFile } from './package-file.js'

/** `Implementation` of the proxy on both sides. The name is fixed: clients derive prefixes from it. */
export const IDENTITY = {
  name: 'mcp-proxy',
  title: 'MCP Proxy',
  version: readVersion(),
} as const

function readVersion(): string {
  const text = readFileSync(packageFile('package.json'), 'utf8')
  const manifest: unknown = JSON.parse(text)
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest
    ? String(manifest.version)
    : '0'
}
