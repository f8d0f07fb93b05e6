import t from 'tap'
import { joinCapabilities, joinInstructions, withinView } from '../../src/catalog/capabilities.js'
import { FakeServer, type Script } from '../support/server/fake-server.js'

const factsOf = (scripts: readonly (Script | undefined)[]) =>
  scripts.map((script, index) => script && new FakeServer(`s${index}`, script).facts)

const joined = (...scripts: readonly (Script | undefined)[]) => joinCapabilities(factsOf(scripts))

const instructed = (...scripts: readonly (Script | undefined)[]) =>
  joinInstructions(factsOf(scripts).map((facts, index) => [`s${index}`, facts] as const))

t.test('what any server can do, all of them together can', async t => {
  t.same(
    joined(
      { tools: [], revision: '2024-11-05' },
      { prompts: [], capabilities: { completions: true } },
      { resources: [], capabilities: { logging: true } },
    ).capabilities,
    { tools: true, prompts: true, resources: { subscribe: true }, completions: true, logging: true },
  )
  const little = { resources: [], capabilities: { resources: { listChanged: false, subscribe: false } } }
  t.same(joined(little).capabilities, {
    tools: false,
    prompts: false,
    resources: { subscribe: false },
    completions: false,
    logging: false,
  })
  t.match(joined().capabilities, { tools: false, resources: undefined })
})

t.test('servers of all revisions count', t => {
  t.same(
    joined(
      { tools: [], revision: '2024-11-05' },
      { prompts: [], revision: '2025-11-25', capabilities: { completions: true } },
      { resources: [], revision: '2026-07-28', capabilities: { logging: true } },
    ),
    {
      capabilities: {
        tools: true,
        prompts: true,
        resources: { subscribe: true },
        completions: true,
        logging: true,
      },
      isComplete: true,
    },
  )
  t.equal(joined({ tools: [] }, undefined).isComplete, false, 'there may be more')
  t.end()
})

t.test(
  'what a server that is still unknown may bring is announced, for it cannot be added later',
  async t => {
    t.same(joined({ tools: [] }, undefined).capabilities, {
      tools: true,
      prompts: true,
      resources: { subscribe: true },
      completions: false,
      logging: false,
    })
  },
)

t.test('a server of 2024-11-05 can complete without saying so, if it has what can be completed', async t => {
  t.equal(joined({ prompts: [], revision: '2024-11-05' }).capabilities.completions, true)
  t.equal(joined({ templates: [], revision: '2024-11-05' }).capabilities.completions, true)
  t.equal(joined({ tools: [], revision: '2024-11-05' }).capabilities.completions, false)
  t.equal(joined({ prompts: [], revision: '2025-03-26' }).capabilities.completions, false)
})

t.test('instructions stand under the alias of their server, in order, cut to a bounded length', async t => {
  t.equal(instructed({}, undefined, { instructions: '  ' }), undefined)
  t.equal(instructed({ instructions: ' one\n' }, {}, { instructions: 'two' }), '## s0\none\n\n## s2\ntwo')
  const long = instructed({ instructions: `${'x'.repeat(8191)}😀` }) ?? ''
  t.equal(long.length, '## s0\n'.length + 8191, 'not through the middle of a character')
  t.equal(instructed({ instructions: `${'x'.repeat(8190)}😀y` })?.endsWith('x😀'), true)
})

t.test('a view without resources loses skills, and keeps apps and tasks', async t => {
  const [ui, skills] = ['io.modelcontextprotocol/ui', 'io.modelcontextprotocol/skills']
  const offer = joined({
    tools: [],
    resources: [],
    revision: '2025-11-25',
    capabilities: { skills: { directoryRead: true } },
    announced: { tasks: { requests: { tools: { call: {} } } }, extensions: { [ui]: {}, [skills]: {} } },
  })
  t.match(offer.capabilities, { tasks: true })
  t.equal(offer.capabilities.extensions?.size, 2)
  const { extensions, ...others } = withinView(offer, { hasList: list => list !== 'resources' }).capabilities
  t.same(others, {
    tools: true,
    prompts: false,
    resources: undefined,
    completions: false,
    logging: false,
    tasks: true,
  })
  t.same([...(extensions?.keys() ?? [])], [ui])
})
