// Prints the cost of framing: messages to and from lines, events and frames. Reports only; never fails.
// Usage: node bench/micro/wire.js [another checkout of the same layout]
import { built, show } from './measure.js'

const [classify, jsonrpc, ndjson, sseRead, content] = await Promise.all(
  ['wire/classify', 'wire/jsonrpc', 'wire/framing/ndjson', 'wire/framing/sse-read', 'model/content'].map(
    built,
  ),
)

const KIB = 1024
const result = size =>
  Buffer.from(`{"content":[{"type":"text","text":"${'lorem ipsum '.repeat(size / 12)}"}]}`)
const reply = size => Buffer.from(`{"jsonrpc":"2.0","id":4711,"result":${result(size)}}`)
const call = Buffer.from(
  '{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"search","arguments":{"query":"stars:>100"}}}',
)
const LF = Buffer.from('\n')

/** Feeds a splitter with chunks of 64 KiB, as pipes and sockets do. */
const inChunks = (bytes, push) => {
  for (let at = 0; at < bytes.length; at += 64 * KIB) push(bytes.subarray(at, at + 64 * KIB))
}

function run() {
  show('classify, a call', call.length, () => classify.classify(call))
  const nothing = () => undefined
  for (const [name, size] of [
    ['200 B', 180],
    ['10 KiB', 10 * KIB],
    ['1 MiB', KIB * KIB],
  ]) {
    const text = reply(size)
    const { message } = classify.classify(text)
    show(`classify, an answer of ${name}`, text.length, () => classify.classify(text))
    show(`isPlain, ${name}`, text.length, () => content.isPlain(message.result))
    show(`encodeResult, ${name}`, text.length, () => jsonrpc.encodeResult(message.id, message.result))
    const line = Buffer.concat([text, LF])
    const lines = new ndjson.LineSplitter({ maxBytes: 16 * KIB * KIB })
    show(`a line of ${name}`, line.length, () => inChunks(line, chunk => lines.push(chunk, nothing, nothing)))
    const event = Buffer.concat([Buffer.from('id: 1.1\nevent: message\ndata: '), text, Buffer.from('\n\n')])
    const reader = new sseRead.SseReader({ maxBytes: 16 * KIB * KIB })
    const on = { onEvent: nothing, onSkipped: nothing }
    show(`an event of ${name}, read`, event.length, () => inChunks(event, chunk => reader.push(chunk, on)))
  }
  const many = Buffer.concat(Array.from({ length: 300 }, () => [reply(180), LF]).flat())
  const lines = new ndjson.LineSplitter({ maxBytes: KIB * KIB })
  show('300 lines in one chunk', many.length, () => lines.push(many, nothing, nothing))
  const { params } = classify.classify(call).message
  show('encodeRequest', 0, i => jsonrpc.encodeRequest(i, 'tools/call', params))
}

run()
