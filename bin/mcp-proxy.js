#!/usr/bin/env node
'use strict'
// Checks the Node version before loading code that an old Node cannot parse. CommonJS, like all code of most
// starts: Node's module loader takes 4 ms.
const { existsSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { join } = require('node:path')
const { isatty } = require('node:tty')

const [major, minor] = process.versions.node.split('.').map(Number)
const isNew = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
// Caches compiled code for the next start, if Node supports it (22.1).
enableCompileCache?.()

const words = process.argv.slice(2)
const isHelp = words.some(word => word === '--help' || word === '-h')
// The shim is a separate file without other imports. Clients may also start the program without arguments.
const isShim = words.length === 0 ? !isatty(0) : words[0] === 'connect' && !isHelp
const main = join(__dirname, isShim ? 'connect.cjs' : '../dist/cli/main.cjs')

if (!isNew) {
  console.error(`mcp-proxy needs Node 20.19, 22.12 or newer; this is ${process.version}`)
  process.exit(4)
}
if (!existsSync(main)) {
  console.error('mcp-proxy is not built yet: run `npm run build` in its folder')
  process.exit(4)
}
if (isShim) require(main)
else {
  const { keepCode } = require('./parts.cjs')
  require(main)
    .main(words, keepCode)
    .then(code => process.exit(code))
}
