import { setTimeout as delay } from 'node:timers/promises'

/** Numbers that follow from a seed (mulberry32), so that a run can be made again. */
export const randomFrom = seed => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const textOf = message => message?.result?.content?.[0]?.text
/**
 * An error that names whose fault it is is an answer; whether it is right to give it now cannot be told from
 * here.
 */
const isHonest = message => typeof message?.error?.message === 'string' && message.error.message.length > 0

const call = (client, name, args, meta) =>
  client.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) })

/** What a client does, one at a time; each resolves when it is over. */
const deeds = ({ random, ledger }) => {
  const right = (message, expected, what) => {
    if (message === undefined || isHonest(message) || textOf(message) === expected) return
    ledger.note(ledger.wrong, `${what}: ${JSON.stringify(message).slice(0, 300)}`)
  }
  const echo = async (client, server, bytes) => {
    const args = { n: Math.floor(random() * 2 ** 40), pad: 'ä'.repeat(Math.floor((random() * bytes) / 2)) }
    const answer = await call(client, `${server}__echo`, args).answer
    right(answer, JSON.stringify(args), `${server} echo`)
    if (answer?.result !== undefined) ledger.served.add(server)
  }
  const servers = ['shared', 'own', 'remote', 'extra']
  const any = () => servers[Math.floor(random() * servers.length)]
  return [
    [40, client => echo(client, any(), 200)],
    [4, client => echo(client, any(), 200_000)],
    [8, client => Promise.all(Array.from({ length: 10 }, () => echo(client, any(), 500)))],
    [
      8,
      async client => {
        const values = Array.from({ length: 50 }, (_, n) => n + 1)
        const answer = await call(client, 'shared__progress', { values, tag: 'p' }, { progressToken: 'p' })
          .answer
        right(answer, 'p', 'progress')
      },
    ],
    [
      6,
      async client => {
        const open = call(client, 'shared__wait', { key: `never-${random()}` })
        await delay(20)
        open.isCancelled = true
        await client.notify('notifications/cancelled', { requestId: open.id, reason: 'soak' })
        open.abandoned()
      },
    ],
    [4, client => client.request('tools/list').answer],
    [2, client => client.request('resources/list').answer],
    [3, client => client.request('prompts/list').answer],
    [
      3,
      async client => {
        const uri = 'shared+file:///a'
        await client.request('resources/subscribe', { uri }).answer
        await call(client, 'shared__touch', { uri: 'file:///a' }).answer
        await client.request('resources/unsubscribe', { uri }).answer
      },
    ],
    [2, client => client.request('logging/setLevel', { level: random() < 0.5 ? 'debug' : 'error' }).answer],
    [
      4,
      client => {
        const params = { message: 'well?', requestedSchema: { type: 'object', properties: {} } }
        return call(client, 'own__ask', { method: 'elicitation/create', params }).answer
      },
    ],
    [2, client => call(client, 'own__exit', {}).answer],
    [2, client => call(client, 'nobody__here', {}).answer],
    [2, client => client.request('what/ever').answer],
  ]
}

const STATELESS = new Set([0, 1, 2, 3, 5, 6, 7, 12, 13])

/** Is a client again and again, until `isOver`: comes, does this and that, goes or vanishes. */
export const work = async (makeClient, { random, ledger, isOver, isModern = false }) => {
  const all = deeds({ random, ledger }).filter((_, index) => !isModern || STATELESS.has(index))
  const sum = all.reduce((total, [weight]) => total + weight, 0)
  const choose = () => {
    let at = random() * sum
    return all.find(([weight]) => {
      at -= weight
      return at < 0
    })[1]
  }
  while (!isOver()) {
    const client = makeClient()
    try {
      await client.open()
      if (!isModern && random() < 0.5) await client.listen()
      for (let deed = random() * 60; deed > 0 && !isOver(); deed -= 1) {
        await choose()(client)
        await delay(random() * 30)
      }
      if (random() < 0.3) {
        // In the middle of something.
        for (let n = 0; n < 3; n += 1) call(client, 'shared__wait', { key: `gone-${random()}` })
        await delay(10)
        client.vanish()
      } else await client.close()
    } catch (error) {
      client.vanish()
      if (!isOver()) ledger.note(ledger.wrong, `a client failed: ${error.stack}`)
    }
  }
}
