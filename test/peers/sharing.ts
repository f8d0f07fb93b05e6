import t from 'tap'
import { type ClientCapabilities, NO_CAPABILITIES } from '../../src/model/peer.js'
import { shareOf, unownedShare } from '../../src/peers/sharing.js'
import { FakeClient } from '../support/client/fake-client.js'
import { World } from '../support/proxy/router.js'
import { ALL_ABILITIES } from '../support/values.js'

const { router } = new World({})
const client = (principal: string, more: Partial<ClientCapabilities> = {}): FakeClient =>
  new FakeClient(router, { principal, capabilities: { ...NO_CAPABILITIES, ...more } })
const sampling = { tools: false, context: false }

t.teardown(() => router.close())

t.test(
  'one principal shares connections among clients with equal capabilities, and with no other principal',
  async t => {
    const keys = [
      client('ann'),
      client('bob'),
      client('ann', { roots: { listChanged: false } }),
      client('ann', { roots: { listChanged: true } }),
      client('ann', { sampling }),
      client('ann', { sampling: { ...sampling, tools: true } }),
      client('ann', { sampling: { ...sampling, context: true } }),
      client('ann', { elicitation: { form: true, url: false } }),
      client('ann', { elicitation: { form: false, url: true } }),
      client('ann', { elicitation: { form: false, url: false } }),
      client('ann', ALL_ABILITIES),
      client('roots'),
      client('ann', { roots: { listChanged: false }, sampling }),
      client('ann roots', { sampling }),
      client('roots sampling', {}),
      client('ann roots sampling'),
      client('ann sampling'),
      client('sampling', { roots: { listChanged: false } }),
      client('', ALL_ABILITIES),
    ].map(one => shareOf('principal', one).key)
    t.equal(new Set(keys).size, keys.length, 'no two keys meet, whatever principals are called')
    t.equal(shareOf('principal', client('ann', { sampling })).key, keys[4])
    t.same(shareOf('principal', client('ann', ALL_ABILITIES)).capabilities, ALL_ABILITIES)
  },
)

t.test('sessions share no connection; with "all", everyone shares one that answers no questions', async t => {
  const [one, two] = [client('ann', ALL_ABILITIES), client('ann', ALL_ABILITIES)]
  t.not(shareOf('session', one).key, shareOf('session', two).key)
  t.equal(shareOf('session', one).key, shareOf('session', one).key)
  t.same(shareOf('session', one).capabilities, ALL_ABILITIES)
  t.same(shareOf('all', one), shareOf('all', client('bob')))
  t.same(shareOf('all', one).capabilities, NO_CAPABILITIES)
})

t.test('in one folder, all clients of a principal share a connection, with any capabilities', async t => {
  const share = (
    principal: string,
    workspace: string | undefined,
    more: Partial<ClientCapabilities> = {},
  ) => {
    const one = client(principal, more)
    one.workspace = workspace
    return shareOf('workspace', one)
  }
  const first = share('ann', '/p', { sampling })
  for (const more of [{}, ALL_ABILITIES, { roots: { listChanged: false } }])
    t.equal(share('ann', '/p', more).key, first.key)
  t.same(first.capabilities, { ...NO_CAPABILITIES, sampling, roots: { listChanged: true } })
  t.equal(first.root, '/p')
  const others = [share('bob', '/p'), share('ann', '/p/q'), share('ann/p', ''), share('', '/pann')]
  t.equal(new Set([first, ...others].map(({ key }) => key)).size, 5)
})

t.test('an unused connection is later given to a client that fits it', async t => {
  t.same(unownedShare('principal'), shareOf('principal', client('local')))
  t.same(unownedShare('all'), shareOf('all', client('local')))
  t.not(unownedShare('session').key, shareOf('session', client('local')).key)
  t.same(unownedShare('session').capabilities, NO_CAPABILITIES)
})
