import t from 'tap'
import { describeServerJson } from '../../../src/setup/add/server-json.js'

const stdio = { type: 'stdio' }

/** Descriptions of the registry, and the entry with the variables that it needs. */
const ROWS: readonly (readonly [
  what: string,
  root: object,
  entry: object | undefined,
  inputs: readonly string[],
])[] = [
  [
    'a package of npm, pinned, with its arguments and variables',
    {
      packages: [
        {
          registryType: 'npm',
          identifier: '@x/y',
          version: '1.2.3',
          transport: stdio,
          runtimeArguments: [{ type: 'named', name: '--quiet', format: 'boolean' }],
          packageArguments: [
            { type: 'positional', value: 'start' },
            { type: 'named', name: '--dir', value: '{dir}', variables: { dir: { default: '/data' } } },
            { type: 'positional', valueHint: 'api url', isRequired: true },
            { type: 'named', name: '--optional' },
          ],
          environmentVariables: [
            { name: 'API_KEY', isRequired: true, isSecret: true },
            { name: 'MODE', default: 'fast' },
            { name: 'SECRET_TOO', isSecret: true, default: 'never shown' },
          ],
        },
      ],
    },
    {
      command: 'npx',
      args: ['-y', '--quiet', '@x/y@1.2.3', 'start', '--dir', '/data', '${API_URL}'],
      env: { API_KEY: '${API_KEY}', MODE: 'fast' },
    },
    ['API_KEY', 'API_URL'],
  ],
  [
    'a package of pypi',
    { packages: [{ registryType: 'pypi', identifier: 'y', version: '2' }] },
    { command: 'uvx', args: ['y==2'] },
    [],
  ],
  [
    'an image, after a package that speaks something else',
    {
      packages: [
        { registryType: 'npm', identifier: 'y', version: '1', transport: { type: 'sse' } },
        {
          registryType: 'oci',
          identifier: 'docker.io/x/y',
          version: '1',
          environmentVariables: [{ name: 'A', value: 'b' }],
          runtimeArguments: [{ type: 'named', name: '--network', value: 'host' }],
        },
      ],
    },
    {
      command: 'docker',
      args: ['run', '-i', '--rm', '-e', 'A', '--network', 'host', 'docker.io/x/y:1'],
      env: { A: 'b' },
    },
    [],
  ],
  [
    'an address',
    {
      remotes: [
        { type: 'sse', url: 'https://x/sse' },
        {
          type: 'streamable-http',
          url: 'https://{tenant}.x/mcp',
          variables: { tenant: {} },
          headers: [{ name: 'X-Key', value: 'k {key}', variables: { key: { isRequired: true } } }],
        },
      ],
    },
    { type: 'http', url: 'https://${TENANT}.x/mcp', headers: { 'X-Key': 'k ${KEY}' } },
    ['KEY', 'TENANT'],
  ],
  ['nothing that runs here', { packages: [{ registryType: 'nuget', identifier: 'x' }] }, undefined, []],
]

t.test('a server of the registry becomes an entry with its version pinned', async t => {
  for (const [what, root, entry, inputs] of ROWS) {
    const described = describeServerJson(root as Readonly<Record<string, unknown>>)
    t.same(described?.entry, entry, what)
    t.same([...(described?.inputs ?? [])].sort(), inputs, what)
  }
})
