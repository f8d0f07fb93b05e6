import { dirname } from 'node:path'
import { main } from './main.js'

// What this file is made into is bin/connect.cjs.
// Nobody may be left to read what we say of ourselves.
process.stderr.on('error', () => undefined)
const words = process.argv.slice(2)
void main(words[0] === 'connect' ? words.slice(1) : words, dirname(__dirname)).then(code =>
  process.exit(code),
)
