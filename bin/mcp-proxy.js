#!/usr/bin/env node
// Checks that this Node can run us, before anything is loaded that an old one could not even parse.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { isatty } from 'node:tty'

const [major, minor] = process.versions.node.split('.').map(Number)
const isNew = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
// Compiled code is kept for the next start, where Node can do that (22.1).
module.enableCompileCache?.()

const words = process.argv.slice(2)
const isHelp = words.some(word => word === '--help' || word === '-h')
// The shim is a file of its own, which loads nothing else. A client may be told the program's name alone.
const isShim = words.length === 0 ? !isatty(0) : words[0] === 'connect' && !isHelp
const main = new URL(isShim ? './connect.cjs' : '../dist/cli/main.js', import.meta.url)

if (!isNew) {
  console.error(`mcp-proxy needs Node 20.19, 22.12 or newer; this is ${process.version}`)
  process.exit(4)
}
if (!existsSync(main)) {
  console.error('mcp-proxy is not built yet: run `npm run build` in its folder')
  process.exit(4)
}
const require = module.createRequire(import.meta.url)
if (isShim) require('./connect.cjs')
else {
  const { main: run } = await import(main.href)
  process.exit(await run(words, require('./parts.cjs').keepCode))
}
