import t from 'tap'
import { SignInLinks } from '../../../src/auth/pages/sign-in-links.js'
import type { ServerOptions } from '../../../src/peers/dial.js'
import { FakeClock } from '../../support/fake-clock.js'
import { configWith } from '../../support/proxy/authorized.js'
import { FakeServer } from '../../support/server/fake-server.js'
import { boundsOf } from '../../support/values.js'

const MINUTE_MS = 60_000
const ORIGIN = 'https://p.test'

const create = (limits = {}) => {
  const clock = new FakeClock()
  const github = { url: 'https://github.test/mcp', credentials: 'per-principal' }
  const config = configWith({ people: {} }, { mcpServers: { github } })
  const { options: by } = new FakeServer('github', { tools: [] })
  const ownOf = (owner: string): ServerOptions => ({ ...by, owned: { owner, by } })
  const bounds = boundsOf(limits, clock)
  const links = new SignInLinks({
    config: () => config,
    configOf: () => config.servers[0],
    logins: { isSignedIn: () => false },
    bounds,
    clock,
  })
  links.opened(ORIGIN)
  return { links, clock, ownOf, by, bounds }
}

t.test('a link leads to our page, is bound to its user, and expires after ten minutes', async t => {
  const { links, clock, ownOf } = create()
  const [hers, his] = [ownOf('person alice'), ownOf('person bob')]
  const link = links.linkFor(hers, 'person alice')
  t.match(link, { url: `${ORIGIN}/oauth/connect/${link?.id}`, minutes: 10 })
  t.equal(Buffer.from(link?.id ?? '', 'base64url').length, 16)
  t.match(links.find(link?.id ?? ''), { principal: 'person alice', server: hers })
  t.not(links.linkFor(his, 'person bob')?.id, link?.id)
  t.equal(links.linkFor(hers, 'person bob'), undefined, 'nobody gets the link of another')

  clock.advance(5 * MINUTE_MS)
  t.match(links.linkFor(hers, 'person alice'), { id: link?.id, minutes: 5 })
  clock.advance(1)
  t.not(links.linkFor(hers, 'person alice')?.id, link?.id, 'there is always time to use it')
  clock.advance(5 * MINUTE_MS)
  t.equal(links.find(link?.id ?? ''), undefined)
})

t.test('a ticket opens its own link, for a minute', async t => {
  const { links, clock, ownOf } = create()
  const [hers, his] = [ownOf('person alice'), ownOf('person bob')]
  const ticketIn = (url = '') => new URL(url).searchParams.get('ticket') ?? ''
  const ticket = ticketIn(links.ticketUrl(hers, 'person alice'))
  const [one, other] = [links.linkFor(hers, 'person alice'), links.linkFor(his, 'person bob')].map(link =>
    links.find(link?.id ?? ''),
  )
  if (one === undefined || other === undefined) throw new Error('there is no link')
  t.equal(links.ticketUrl(hers, 'person bob'), undefined, 'there is none for the link of another')
  t.ok(links.isTicketOf(one, ticket))
  t.notOk(links.isTicketOf(other, ticket))
  t.notOk(links.isTicketOf(one, `${ticket}x`))
  clock.advance(MINUTE_MS)
  t.notOk(links.isTicketOf(one, ticket))
})

t.test('a used link is replaced, and the number of links is bounded', async t => {
  const { links, ownOf, bounds } = create({ loginFlows: 2 })
  const hers = ownOf('person alice')
  const first = links.find(links.linkFor(hers, 'person alice')?.id ?? '')
  if (first === undefined) throw new Error('there is no link')
  links.used(first)
  const second = links.linkFor(hers, 'person alice')
  t.not(second?.id, first.id)
  t.ok(links.find(first.id), 'its page says what came of it')
  links.linkFor(ownOf('person bob'), 'person bob')
  t.equal(links.find(first.id), undefined, 'limits.loginFlows: the oldest makes room')
  t.ok(links.find(second?.id ?? ''))
  t.equal(bounds.hits.loginFlows?.hits, 1)
})

t.test('a user who requests many links does not displace the links of others', async t => {
  const { links, ownOf } = create({ loginFlows: 5 })
  const hers = links.linkFor(ownOf('person alice'), 'person alice')
  for (let at = 0; at < 20; at += 1) links.linkFor(ownOf('person bob'), 'person bob')
  t.ok(links.find(hers?.id ?? ''))
})

t.test('the shared login is not offered where users authenticate', async t => {
  const { links, by } = create()
  t.equal(links.linkFor(by, 'local'), undefined)
  t.equal(links.linkFor(by, 'person alice'), undefined)
  links.closed(ORIGIN)
  t.notOk(links.isOpen, 'nor where no browser reaches us')
})
