// A stdio server for benchmarks: `tools/call` answers with the call's tag and text of the requested size.
// With the argument `modern`, it speaks only revision 2026-07-28.
import { answer } from './server.js'

let rest = []
let isCorked = false
const { stdout } = process
const put = (...pieces) => {
  if (!isCorked) {
    isCorked = true
    stdout.cork()
    process.nextTick(() => {
      isCorked = false
      stdout.uncork()
    })
  }
  for (const piece of pieces) stdout.write(piece)
  stdout.write('\n')
}

process.stdin.on('data', chunk => {
  let from = 0
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
    const piece = chunk.subarray(from, at)
    const line = rest.length === 0 ? piece : Buffer.concat([...rest, piece])
    rest = []
    from = at + 1
    answer(line, put)
  }
  if (from < chunk.length) rest.push(chunk.subarray(from))
})
process.stdin.on('end', () => process.exit(0))
