import t from 'tap'
import { Fault } from '../../../src/kernel/faults.js'
import { rawText, textOf, valueOf } from '../../../src/kernel/json/text.js'
import { failed, succeeded } from '../../../src/model/outcome.js'
import { AskingWorld, FORM, NONE, URLS } from '../../support/approvals.js'
import type { FakeCall, FakeClient } from '../../support/client/fake-client.js'
import { settled } from '../../support/fake-clock.js'
import { again, wishOf } from '../../support/proxy/router.js'
import { rulesOf } from '../../support/rules.js'
import { tool } from '../../support/values.js'

const ASK = { id: 'refunds', tool: 'refund', then: 'ask', reason: 'Refunds need finance.' }
const PARAMS = { name: 'shop__refund', arguments: { amount: 900 } }
const ONCE = { action: 'accept', content: { decision: 'once' } }
const INVALID = { code: -32602, message: 'Invalid or expired requestState' }
const SENT = 'ended 0 times'

const refund = (client: FakeClient, params: object = PARAMS, more = {}): FakeCall =>
  client.call('tools/call', params, more)

/** Answers the newest question of a session. */
const answer = async (client: FakeClient, value: unknown, index = -1): Promise<void> => {
  client.asked.at(index)?.ask.answer(succeeded(textOf(value)))
  await settled()
}

const asked = (client: FakeClient, index = -1) => {
  const params = client.asked.at(index)?.ask.params
  return params && (valueOf(params) as { message: string; [key: string]: unknown })
}

/** The message that the client receives. */
const messageOf = ({ ends: [outcome] }: FakeCall): string | undefined =>
  outcome?.kind === 'fault' ? (outcome.message ?? outcome.fault.message) : undefined

const refused = (reason: string) => ({ data: { reason, rule: 'refunds' } })

t.test('a session is asked by a form, and one answer lets one call through', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ revision: '2025-06-18', capabilities: FORM })
  const call = refund(client)
  await settled()
  t.match(asked(client), {
    message:
      /^Allow this call\? The text in the box was not written by mcp-proxy\.\n```\nserver: "shop"\ntool: "refund"\narguments: \{"amount":900\}\n```\nRule "refunds": Refunds need finance\.\nValid for this call only, until \d\d:\d\d:\d\d UTC\.$/,
    requestedSchema: {
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: 'Decision',
          enum: ['no', 'once'],
          enumNames: ['Do not allow', 'Allow this one call'],
        },
      },
      required: ['decision'],
    },
  })
  t.equal(client.asked[0]?.during, call, 'on the stream of the call')
  t.same(world.sent, [])
  await answer(client, ONCE)
  t.same(world.sent, [{ name: 'refund', arguments: { amount: 900 } }])
  await answer(client, ONCE, 0)
  refund(client)
  await settled()
  t.equal(client.asked.length, 2, 'the next equal call is asked about again')
  t.equal(world.sent.length, 1)
  t.same(
    world.events.map(({ event }) => event),
    ['asked', 'granted', 'used', 'asked'],
  )
})

t.test('only an accepted form with the exact choice approves', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const bad = [
    '{"action":"accept","content":{}}',
    '{"action":"accept"}',
    '{"action":"accept","content":{"decision":"yes"}}',
    '{"action":"accept","content":{"decision":true}}',
    '{"action":"accept","content":{"decision":["once"]}}',
    '{"action":"accept","content":{"decision":"session"}}',
    '{"action":"accept","content":{"decision":"once","decision":"no"}}',
    '{"action":"accept","content":{"decision":"no"},"content":{"decision":"once"}}',
    '{"action":"decline","content":{"decision":"once"}}',
    '{"action":"cancel"}',
    '{"content":{"decision":"once"}}',
  ]
  for (const text of bad) {
    const call = refund(client)
    await settled()
    client.asked.at(-1)?.ask.answer(succeeded(rawText(text)))
    await settled()
    t.match(call.ended, { message: /^Approval declined/, ...refused('approval-declined') }, text)
  }
  const call = refund(client)
  await settled()
  client.asked.at(-1)?.ask.answer({ kind: 'error', error: rawText('{"code":-1,"message":"no"}') })
  await settled()
  t.match(call.ended, refused('approval-declined'))
  t.same(world.sent, [])
})

t.test('a question that a session cannot get ends in a refusal that names the page', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const call = refund(client)
  await settled()
  client.asked[0]?.ask.answer(failed(new Fault('unavailable', 'The client has no open stream')))
  await settled()
  t.match(call.ended, refused('approval-needed'))
  t.match(messageOf(call), /Approve it at http:\/\/127/)
})

t.test('a page that a session cannot open is named in a refusal, without a wait', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: URLS })
  const call = refund(client)
  await settled()
  client.asked[0]?.ask.answer({ kind: 'error', error: rawText('{"code":-32601,"message":"no"}') })
  await settled()
  t.match(call.ended, refused('approval-needed'))
  world.decide(true)
  refund(client)
  await settled()
  t.equal(world.sent.length, 1, 'the page still decides')
})

t.test('a call that passes by other rules leaves no approval behind', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  refund(client)
  await settled()
  world.gate.reload([])
  await answer(client, ONCE)
  t.equal(world.sent.length, 1)
  world.gate.reload(rulesOf([ASK]))
  refund(client)
  await settled()
  t.equal(world.sent.length, 1)
  t.equal(client.asked.length, 2)
})

t.test('a form ends with its call, and an answer after that changes nothing', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const call = refund(client)
  await settled()
  call.cancel('enough')
  await settled()
  t.equal(client.asked[0]?.withdrawn, true)
  await answer(client, ONCE, 0)
  t.same(world.sent, [])
  t.same(
    world.events.map(({ event }) => event),
    ['asked', 'withdrawn'],
  )
})

t.test('a form without an answer times out', async t => {
  const world = new AskingWorld([{ ...ASK, ask: { timeout: '1m' } }])
  const client = await world.client({ capabilities: FORM })
  const call = refund(client, PARAMS, { wantsProgress: true })
  await world.world.pass(59_000, 1000)
  t.equal(call.ended, SENT)
  t.same(call.progresses.slice(0, 3), [0.000001, 0.000002, 0.000003])
  await world.world.pass(1000)
  t.match(call.ended, {
    ...refused('approval-expired'),
    message: 'Approval timed out: no answer within 1m (rule "refunds")',
  })
  t.equal(client.asked[0]?.withdrawn, true)
  await answer(client, ONCE, 0)
  t.same(world.sent, [])
})

t.test('the time that a person takes is not time of the server', async t => {
  const timeouts = { connectMs: 1000, listMs: 1000, callMs: 60_000, totalMs: 60_000 }
  const world = new AskingWorld([ASK], {
    script: { tools: [tool('refund')], options: { timeouts } },
  })
  for (const about of [{ capabilities: FORM }, { capabilities: FORM, revision: '2026-07-28' as const }]) {
    const client = await world.client(about)
    const first = refund(client)
    await world.world.pass(240_000, 1000)
    const isReturned = first.ended !== SENT || first.ends.length > 0
    const call = isReturned ? again(first, { approval: ONCE }) : first
    if (!isReturned) await answer(client, ONCE)
    await settled()
    const before = world.sent.length
    await world.world.pass(59_000, 1000)
    t.equal(call.ended, SENT)
    await world.world.pass(2000, 1000)
    t.not(call.ended, SENT, 'then its time is over')
    t.equal(world.sent.length, before, 'a call that timed out is not sent again')
  }
})

t.test('two equal calls in flight get two questions', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const calls = [refund(client), refund(client)]
  await settled()
  t.equal(client.asked.length, 2)
  await answer(client, ONCE, 1)
  t.equal(world.sent.length, 1)
  t.equal(calls[0]?.ended, SENT)
  t.equal(world.approvals.records.waiting.length, 1)
})

t.test('a reload while the question is open decides again', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const denied = refund(client)
  await settled()
  world.gate.reload(rulesOf([{ id: 'refunds', tool: 'refund', then: 'deny' }]))
  await answer(client, ONCE)
  t.match(denied.ended, { data: { reason: 'denied' } })
  world.gate.reload(rulesOf([ASK]))
  const asking = refund(client, { ...PARAMS, arguments: { amount: 1 } })
  await settled()
  world.gate.reload(rulesOf([{ ...ASK, reason: 'Another.' }]))
  await answer(client, ONCE)
  t.match(asked(client)?.message, /Another\./)
  t.same(world.sent, [])
  await answer(client, ONCE)
  t.equal(world.sent.length, 1)
  world.gate.reload(rulesOf([ASK]))
  refund(client, { ...PARAMS, arguments: { amount: 2 } })
  await settled()
  world.gate.reload([])
  await answer(client, ONCE)
  t.equal(world.sent.length, 2, 'without rules the call passes')
  t.equal(asking.ended, SENT)
})

t.test('a tool that changes while it waits is refused', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const call = refund(client)
  await settled()
  const server = world.world.server('shop')
  server.lists.tools = [{ ...tool('refund'), description: 'Pays everything out.' }]
  server.link.notice('notifications/tools/list_changed')
  await world.world.pass(2000, 10)
  await client.list('tools/list')
  await answer(client, ONCE)
  t.match(call.ended, {
    message: 'The tool changed while the call was waiting for approval. List the tools again',
    ...refused('tool-changed'),
  })
  t.same(world.sent, [])
})

t.test('an approved call waits for the list of a tool that may have changed meanwhile', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const server = world.world.server('shop')
  const approved = async (change: () => void) => {
    const call = refund(client)
    await settled()
    change()
    await answer(client, ONCE)
    await world.world.pass(10)
    return call.ended
  }
  const changed = { ...tool('refund'), description: 'Pays everything out.' }
  const announced = await approved(() => {
    server.lists.tools = [changed]
    server.link.notice('notifications/tools/list_changed')
  })
  t.match(announced, refused('tool-changed'), 'after an announcement')
  const same = await approved(() => server.link.notice('notifications/tools/list_changed'))
  t.equal(same, SENT, 'an announcement without a change')
  t.equal(world.sent.length, 1)
})

t.test('without elicitation, the next equal call takes over what was decided on the page', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: NONE })
  const first = refund(client)
  await settled()
  const { id } = world.waiting
  t.match(first.ended, {
    ...refused('approval-needed'),
    data: { approval: { id, url: `http://127.0.0.1:1/approvals/${id}`, expiresAt: /^20.*Z$/ } },
  })
  t.equal(
    messageOf(first),
    `This call needs your approval (rule "refunds"). Approve it at http://127.0.0.1:1/approvals/${id}, then repeat the same call. The link expires in 5 min`,
  )
  const second = refund(client, { name: 'shop__refund', arguments: { amount: 900.0 } })
  await settled()
  t.match(second.ended, { data: { approval: { id } } }, 'it keeps waiting')
  world.decide(true)
  t.equal(world.decide(false, world.approvals.records.find(id)), false, 'a second decision changes nothing')
  refund(client, { name: 'shop__refund', arguments: { amount: 901 } })
  await settled()
  t.same(world.sent, [], 'other arguments are another call')
  const calls = [refund(client), refund(client), refund(client)]
  await settled()
  t.equal(world.sent.length, 1, 'one of three runs')
  t.same(calls.filter(({ ended }) => ended === SENT).length, 1)
  const other = await world.client({ capabilities: NONE, principal: 'person bob' })
  const foreign = refund(other)
  await settled()
  t.match(foreign.ended, refused('approval-needed'))
  t.equal(world.sent.length, 1)
})

t.test('a declined call is refused once', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: NONE })
  refund(client)
  await settled()
  world.decide(false)
  const reasons = []
  for (let round = 0; round < 2; round += 1) {
    const call = refund(client)
    await settled()
    reasons.push((call.ended as { data: { reason: string } }).data.reason)
  }
  t.same(reasons, ['approval-declined', 'approval-needed'])
})

t.test('an approval that is granted but not used in time is worth nothing', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: NONE })
  refund(client)
  await settled()
  world.decide(true)
  await world.world.pass(300_000)
  const call = refund(client)
  await settled()
  t.match(call.ended, refused('approval-needed'))
  t.same(world.sent, [])
})

t.test('commands are named where there is no page, and without them nobody can be asked', async t => {
  const commands = new AskingWorld([ASK], { hasPage: false })
  const client = await commands.client({ capabilities: URLS })
  const call = refund(client)
  await settled()
  const { id } = commands.waiting
  t.equal(
    messageOf(call),
    `This call needs your approval (rule "refunds"). Run "mcp-proxy approve ${id}", then repeat the same call`,
  )
  const nothing = new AskingWorld([ASK], { hasPage: false, hasCommands: false })
  const mute = await nothing.client({ capabilities: NONE })
  const impossible = refund(mute)
  await settled()
  t.match(impossible.ended, {
    ...refused('approval-impossible'),
    message:
      'This call needs approval (rule "refunds"), but this client cannot prompt the user and the proxy has no approval page',
  })
  t.same(nothing.events, [])
})

t.test('a session that opens pages continues once the page has decided', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: URLS })
  const call = refund(client)
  await settled()
  const { id } = world.waiting
  t.match(asked(client), {
    mode: 'url',
    url: `http://127.0.0.1:1/approvals/${id}`,
    message: 'Allow or refuse a call of shop: open the page',
  })
  await answer(client, { action: 'accept' })
  t.same(world.sent, [], 'accepting only opens the page')
  world.decide(true)
  await settled()
  const elicitationId = asked(client)?.['elicitationId']
  t.same(call.told, [['notifications/elicitation/complete', { elicitationId }]])
  t.equal(world.sent.length, 1)
})

t.test('a held call ends after 45 s without progress, and the next one continues', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: URLS })
  const call = refund(client)
  await settled()
  await answer(client, { action: 'accept' })
  await world.world.pass(44_000, 1000)
  t.equal(call.ended, SENT)
  await world.world.pass(1000)
  t.match(call.ended, refused('approval-needed'))
  world.decide(true)
  refund(client)
  await settled()
  t.equal(world.sent.length, 1)
  t.equal(client.asked.length, 1)
})

t.test('another person decides about a call that is held meanwhile', async t => {
  const world = new AskingWorld([
    { ...ASK, ask: { of: { people: ['ann'], scopes: ['finance'] }, timeout: '2m' } },
  ])
  const client = await world.client({ capabilities: FORM, principal: 'person bob' })
  const call = refund(client, PARAMS, { wantsProgress: true })
  await world.world.pass(100_000, 1000)
  t.equal(call.ended, SENT)
  t.equal(client.asked.length, 0)
  const may = (principal: string, scopes?: string[]): boolean =>
    world.approvals.mayDecide(world.waiting, { principal, scopes: scopes && new Set(scopes) })
  t.equal(may('person bob', ['finance']), false)
  t.equal(may('person ann'), false)
  t.equal(may('person carl', ['finance']), false)
  t.equal(may('person ann', ['finance']), true)
  world.decide(true)
  await settled()
  t.equal(world.sent.length, 1)
  const short = refund(client)
  await world.world.pass(45_000)
  t.match(short.ended, refused('approval-waiting'))
  t.match(
    messageOf(short),
    /^This call is waiting for another person's approval \(rule "refunds"\)\. They can approve it at http.*\. Repeat the same call to check the status$/,
  )
})

t.test('an answer for the session covers further calls of the same tool', async t => {
  const world = new AskingWorld([{ ...ASK, ask: { remember: '1h' } }])
  const client = await world.client({ capabilities: FORM })
  refund(client)
  await settled()
  t.match(asked(client), {
    requestedSchema: {
      properties: { decision: { oneOf: [{ const: 'no' }, { const: 'once' }, { const: 'session' }] } },
    },
  })
  await answer(client, { action: 'accept', content: { decision: 'session' } })
  for (let amount = 1; amount <= 50; amount += 1) refund(client, { ...PARAMS, arguments: { amount } })
  await settled()
  t.equal(world.sent.length, 51)
  refund(client)
  await settled()
  t.equal(client.asked.length, 2, 'after 50 calls it is asked again')
  const other = await world.client({ capabilities: FORM })
  refund(other)
  await settled()
  t.equal(other.asked.length, 1, 'another session is asked')
  t.equal(world.sent.length, 51)
})

// ── clients that return with a state ──

t.test('a client without a session gets the question in a result', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ revision: '2026-07-28', capabilities: FORM })
  const call = refund(client)
  await settled()
  t.match(wishOf(call), {
    resultType: 'input_required',
    inputRequests: {
      approval: {
        method: 'elicitation/create',
        params: { mode: 'form', requestedSchema: { properties: { decision: { oneOf: [{}, {}] } } } },
      },
    },
  })
  const other = await world.client({
    ...{ revision: '2026-07-28', capabilities: FORM, principal: 'person bob' },
  })
  for (const [name, retry] of Object.entries({
    'other arguments': again(call, { approval: ONCE }, { params: { arguments: { amount: 901 } } }),
    'another person': again(call, { approval: ONCE }, { client: other }),
    'another tool': again(call, { approval: ONCE }, { params: { name: 'shop__read' } }),
  })) {
    await settled()
    t.match(retry.ended, INVALID, name)
  }
  t.same(world.sent, [])
  const retries = [1, 2, 3].map(() => again(call, { approval: ONCE }))
  await settled()
  t.same(world.sent, [{ name: 'refund', arguments: { amount: 900 } }], 'it runs once')
  t.equal(retries.filter(({ ended }) => ended === SENT).length, 1)
  for (const retry of retries) if (retry.ended !== SENT) t.match(retry.ended, INVALID)
  const late = again(call, { approval: ONCE })
  await settled()
  t.match(late.ended, INVALID)
  t.equal(world.sent.length, 1)
})

t.test('a retry after the end of the approval is asked again', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ revision: '2026-07-28', capabilities: FORM })
  const call = refund(client)
  await world.world.pass(301_000)
  const late = again(call, { approval: ONCE })
  await settled()
  t.equal(wishOf(late).resultType, 'input_required')
  t.same(world.sent, [])
  const declined = again(late, { approval: { action: 'decline' } })
  await settled()
  t.match(declined.ended, refused('approval-declined'))
  const twice = again(late, { approval: ONCE })
  await settled()
  t.match(twice.ended, INVALID)
  t.same(world.sent, [])
})

t.test(
  'a client without a session waits for the page, and is asked again with the same approval',
  async t => {
    const world = new AskingWorld([{ ...ASK, ask: { via: 'page' } }])
    const client = await world.client({
      ...{ revision: '2026-07-28', capabilities: { ...FORM, elicitation: { form: true, url: true } } },
    })
    const call = refund(client)
    await settled()
    const { id } = world.waiting
    t.match(wishOf(call).inputRequests, { approval: { params: { mode: 'url', url: new RegExp(id) } } })
    const waiting = again(call, { approval: { action: 'accept' } })
    await world.world.pass(29_000)
    t.equal(waiting.ended, SENT)
    await world.world.pass(1000)
    t.match(wishOf(waiting).inputRequests, { approval: { params: { url: new RegExp(id) } } })
    const next = again(waiting, { approval: { action: 'accept', content: { decision: 'once' } } })
    await settled()
    t.same(world.sent, [], 'a form does not count')
    world.decide(true)
    await settled()
    t.equal(world.sent.length, 1)
    t.equal(next.ended, SENT)
  },
)

t.test('the input rounds of a server need no other approval, and no state works twice', async t => {
  const world = new AskingWorld([ASK], {
    script: { revision: '2026-07-28', tools: [tool('refund'), tool('read')] },
  })
  const client = await world.client({ revision: '2026-07-28', capabilities: FORM })
  const call = refund(client)
  await settled()
  const approved = again(call, { approval: ONCE })
  await settled()
  const server = world.world.server('shop')
  server.last('tools/call').returns({ k: { method: 'elicitation/create', params: { message: 'm' } } }, 'S')
  await settled()
  t.match(wishOf(approved).inputRequests, { k: {} })
  const rounds = [1, 2].map(() => again(approved, { k: { action: 'accept', content: {} } }))
  await settled()
  t.equal(world.sent.length, 2)
  t.match(rounds[1]?.ended, INVALID)
  server.last('tools/call').returns({ k: { method: 'elicitation/create', params: { message: 'm' } } }, 'T')
  await settled()
  const replayed = again(approved, { k: { action: 'accept', content: {} } })
  await settled()
  t.match(replayed.ended, INVALID)
  again(rounds[0] as FakeCall, { k: { action: 'accept', content: {} } })
  await settled()
  t.equal(world.sent.length, 3)
})

// ── bounds ──

t.test('floods of approvals are refused, and of one person before all', async t => {
  const world = new AskingWorld([ASK], { limits: { approvals: 5, approvalsPerPrincipal: 3 } })
  const reasons: unknown[] = []
  for (const principal of ['a', 'a', 'a', 'a', 'b', 'b', 'b']) {
    const client = await world.client({ capabilities: NONE, principal })
    const call = refund(client, { ...PARAMS, arguments: { n: reasons.length } })
    await settled()
    const { data } = call.ended as { data: { reason: string; limit?: string } }
    reasons.push(data.limit ?? data.reason)
  }
  t.same(reasons, [
    ...['approval-needed', 'approval-needed', 'approval-needed', 'approvalsPerPrincipal'],
    ...['approval-needed', 'approval-needed', 'approvals'],
  ])
  const [one] = world.approvals.records.waiting
  if (one !== undefined) world.decide(false, one)
  const client = await world.client({ capabilities: NONE, principal: 'c' })
  const call = refund(client)
  await settled()
  t.match(call.ended, refused('approval-needed'), 'a declined one makes room')
})

t.test('arguments that nobody can read are refused', async t => {
  const world = new AskingWorld([ASK])
  const client = await world.client({ capabilities: FORM })
  const large = refund(client, { ...PARAMS, arguments: { x: 'a'.repeat(300 * 1024 - 8) } })
  await settled()
  t.match(large.ended, {
    ...refused('approval-too-large'),
    message: /but its arguments are too large to display \(300 KiB\)$/,
  })
  t.equal(client.asked.length, 0)
})
