// A stdio server that writes down each call in the file COUNT_FILE before it does anything, so that a call
// that ran twice shows, wherever it ran.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

const FILE = process.env.COUNT_FILE
const asked = new Map()

const send = message => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const text = words => ({ content: [{ type: 'text', text: words }] })

const ask = tag =>
  new Promise(resolve => {
    const id = `ask-${tag}`
    asked.set(id, resolve)
    const params = {
      message: tag,
      requestedSchema: { type: 'object', properties: { a: { type: 'string' } } },
    }
    send({ id, method: 'elicitation/create', params })
  })

const TOOLS = {
  run: ({ tag }) => tag,
  async slow({ tag }, progressToken) {
    for (let progress = 1; progress <= 5; progress += 1) {
      await delay(40)
      send({ method: 'notifications/progress', params: { progressToken, progress, message: tag } })
    }
    return tag
  },
  async ask({ tag }) {
    const answer = await ask(tag)
    asked.delete(`ask-${tag}`)
    return answer.result?.content?.a ?? 'nobody answered'
  },
}

const answer = async ({ method, params }) => {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'count', version: '1' },
    }
  if (method === 'tools/list')
    return { tools: Object.keys(TOOLS).map(name => ({ name, inputSchema: { type: 'object' } })) }
  if (method !== 'tools/call') return {}
  appendFileSync(FILE, `${params.arguments.tag}\n`)
  return text(await TOOLS[params.name](params.arguments, params._meta?.progressToken))
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line)
  if (message.method === undefined) asked.get(message.id)?.(message)
  else if (message.id !== undefined) answer(message).then(result => send({ id: message.id, result }))
}
