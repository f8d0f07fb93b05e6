#!/usr/bin/env node
// Checks that this Node can run us, before anything is loaded that an old one could not even parse.
import { existsSync } from 'node:fs'
import module from 'node:module'
import v8 from 'node:v8'

const [major, minor] = process.versions.node.split('.').map(Number)
const isNew = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
// Compiled code is kept for the next start, where Node can do that (22.1).
module.enableCompileCache?.()

// The bytes of messages count for V8 as part of our heap, which is small beside them: it would collect all of it every few large
// messages, before a collection of what is young, which is enough for them, has had its turn. The heap may grow fourfold between
// two collections, which is the most that V8 would grant it by itself (src/heap/memory-controller.h).
v8.setFlagsFromString('--heap-growing-percent=300')

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
