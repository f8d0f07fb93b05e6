import { dirname } from 'node:path'
import { main } from './main.js'

// What this file is made into is bin/connect.cjs.
const words = process.argv.slice(2)
void main(words[0] === 'connect' ? words.slice(1) : words, dirname(__dirname)).then(code =>
  process.exit(code),
)
