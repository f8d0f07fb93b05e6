import t from 'tap'
import { LocalClient, resultOf } from '../../src/control/local-client.js'
import { Fault } from '../../src/kernel/faults.js'
import { memberOf, rawText, stringOf, textOf } from '../../src/kernel/json/text.js'
import type { Call, Client, ClientHandler, Welcome } from '../../src/model/links.js'
import { failed, type Outcome, succeeded } from '../../src/model/outcome.js'
import { Progress } from '../../src/model/progress.js'

const WELCOME: Welcome = {
  capabilities: { tools: true, prompts: false, resources: undefined, completions: false, logging: false },
  instructions: undefined,
  isComplete: true,
}

/** A handler that answers as it is told, and keeps what it saw. */
const handler = (answer: (call: Call) => void) => {
  const seen: { client?: Client; calls: Call[]; left: number } = { calls: [], left: 0 }
  const fake: ClientHandler = {
    async welcome(client) {
      seen.client = client
      return WELCOME
    },
    call(call) {
      seen.calls.push(call)
      answer(call)
    },
    ownIdentity: () => undefined,
    lackingScopes: () => Promise.resolve([]),
    callerChanged: () => undefined,
    tool: () => undefined,
    notified: () => undefined,
    idle: () => undefined,
    left: () => {
      seen.left += 1
    },
  }
  return { seen, fake }
}

t.test('a local client is a local person of 2025-11-25 who can be asked nothing', async t => {
  const { seen, fake } = handler(() => undefined)
  const one = new LocalClient(fake)
  await one.welcome
  const { client } = seen
  t.match(client, {
    principal: 'local',
    revision: '2025-11-25',
    capabilities: { roots: undefined, sampling: undefined },
  })
  let answered: Outcome | undefined
  client?.ask(
    {
      method: 'roots/list',
      params: undefined,
      about: undefined,
      wantsProgress: false,
      answer: outcome => {
        answered = outcome
      },
      progress: () => undefined,
      onWithdrawn: undefined,
    },
    undefined,
  )
  t.match(answered, { kind: 'fault', fault: { code: 'unknown-method' } })
})

t.test('a list is read through all its pages, and only if a server has it', async t => {
  const pages = ['{"tools":[{"n":1.0},2],"nextCursor":"a"}', '{"tools":[],"nextCursor":"b"}', '{"tools":[3]}']
  const { seen, fake } = handler(call => call.end(succeeded(rawText(pages.shift() ?? '{}'))))
  const client = new LocalClient(fake)
  t.same((await client.list('tools')).map(String), ['{"n":1.0}', '2', '3'])
  t.same(
    seen.calls.map(({ params }) => params && stringOf(memberOf(params, 'cursor'))),
    [undefined, 'a', 'b'],
  )
  for (const list of ['prompts', 'resources', 'templates'] as const) {
    t.same(await client.list(list), [])
  }
  t.equal(seen.calls.length, 3)
})

t.test('a list that cannot be had rejects with the reason', async t => {
  const { fake } = handler(call => call.end(failed(new Fault('unavailable', 'nobody is there'))))
  await t.rejects(new LocalClient(fake).list('tools'), {
    code: 'unavailable',
    message: 'nobody is there',
  })
})

t.test('an error of a server is told in its words', async t => {
  const outcome: Outcome = { kind: 'error', error: textOf({ code: -1, message: 'no' }) }
  t.throws(() => resultOf(outcome), { code: 'unavailable', message: 'The server answered with an error: no' })
})

t.test('progress and notices are heard until the call ends', async t => {
  const heard: string[] = []
  const { fake } = handler(call => {
    t.equal(call.wantsProgress, true)
    call.progress(new Progress(rawText('{"progress":1}')))
    call.notify('notifications/message', undefined)
    call.end(succeeded(rawText('{}')))
    call.progress(new Progress(rawText('{"progress":2}')))
    call.notify('too late', undefined)
    call.end(failed(new Fault('internal', 'too late')))
  })
  const client = new LocalClient(fake, {
    onProgress: params => heard.push(String(params)),
    onNotification: method => heard.push(method),
  })
  t.match(await client.request('tools/call', rawText('{}')), { kind: 'result' })
  t.same(heard, ['{"progress":1}', 'notifications/message'])
})

t.test('a client that disconnects cancels its calls in flight', async t => {
  const reasons: unknown[] = []
  const { seen, fake } = handler(call => {
    call.onCancelled(reason => reasons.push(reason))
    client.close()
  })
  const client = new LocalClient(fake)
  t.match(await client.request('tools/call'), { kind: 'fault', fault: { code: 'cancelled' } })
  client.close()
  t.same(reasons, ['the client disconnects'])
  t.equal(seen.left, 1)
  t.match(await client.request('tools/call'), { kind: 'fault', fault: { code: 'disconnected' } })
  t.equal(seen.calls.length, 1)
})
