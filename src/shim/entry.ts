import { dirname } from 'node:path'
import { main } from './main.js'

// Built into bin/connect.cjs.
// Ignores a closed stderr.
process.stderr.on('error', () => undefined)
const words = process.argv.slice(2)
void main(words[0] === 'connect' ? words.slice(1) : words, dirname(__dirname)).then(code =>
  process.exit(code),
)
