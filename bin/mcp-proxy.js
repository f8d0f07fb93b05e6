#!/usr/bin/env node
// Checks that this Node can run us, before anything is loaded that an old one could not even parse.
import { existsSync } from 'node:fs'
import module from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)
const isNew = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
// Compiled code is kept for the next start, where Node can do that (22.1).
module.enableCompileCache?.()

const main = new URL('../dist/cli/main.js', import.meta.url)

if (!isNew) {
  console.error(`mcp-proxy needs Node 20.19, 22.12 or newer; this is ${process.version}`)
  process.exit(4)
}
if (!existsSync(main)) {
  console.error('mcp-proxy is not built yet: run `npm run build` in its folder')
  process.exit(4)
}
const { main: run } = await import(main.href)
process.exit(await run(process.argv.slice(2)))
