#!/usr/bin/env node
'use strict'
// Checks that this Node can run us, before anything is loaded that an old one could not even parse. CommonJS,
// as all that most starts load: Node's loader of modules takes 4 ms.
const { existsSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { join } = require('node:path')
const { isatty } = require('node:tty')

const [major, minor] = process.versions.node.split('.').map(Number)
const isNew = major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)
// Compiled code is kept for the next start, where Node can do that (22.1).
enableCompileCache?.()

const words = process.argv.slice(2)
const isHelp = words.some(word => word === '--help' || word === '-h')
// The shim is a file of its own, which loads nothing else. A client may be told the program's name alone.
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
