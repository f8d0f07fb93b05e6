import {
  ClientNotificationSchema,
  ClientRequestSchema,
  ServerNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import t from 'tap'
import {
  isCacheable,
  LISTEN_NOTIFICATIONS,
  methodMayNeedInput,
  NAMED_BY,
  REQUEST_NOTIFICATIONS,
  REQUESTS,
  TASK_REPORT,
} from '../../../src/eras/modern/methods.js'
import { META, MODERN_REVISION } from '../../../src/eras/shared/protocol.js'
import { isLogLevel, LOG_LEVELS } from '../../../src/model/log-level.js'
import { sdkOnPipe } from '../../support/client/sdk-client.js'

const DISCOVER =
  '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}},"ttlMs":0,"cacheScope":"private"}'

/** Every request and notification of any revision, as in SDK v1, and the ones added by 2026-07-28. */
const EVER_REQUESTS = [
  ...ClientRequestSchema.options.map(option => option.shape.method.value as string),
  'server/discover',
  'subscriptions/listen',
  'tasks/update',
  'sampling/createMessage',
  'elicitation/create',
  'roots/list',
]

t.test('the requests of this revision match the official client, without its extensions', async t => {
  const { client, sent } = await sdkOnPipe(({ method }) =>
    method === 'server/discover' ? DISCOVER : '{"resultType":"complete"}',
  )
  sent.length = 0
  const anyResult = {
    '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
  } as never
  for (const method of new Set(EVER_REQUESTS)) {
    const ask = async (): Promise<unknown> => client.request({ method, params: {} } as never, anyResult)
    await ask().catch(() => undefined)
  }
  await client.close()
  const methods = sent.map(request => request.method).filter(method => !method.startsWith('notifications/'))
  const ofExtension = ['tasks/cancel', 'tasks/get', 'tasks/update']
  t.same([...new Set(methods)].sort(), [...REQUESTS.keys(), ...ofExtension].sort())
})

t.test('the server notifications of this revision match the specification', async t => {
  t.ok(LISTEN_NOTIFICATIONS.has(TASK_REPORT), 'of an extension')
  const known = [...REQUEST_NOTIFICATIONS, ...LISTEN_NOTIFICATIONS].filter(one => one !== TASK_REPORT)
  t.same(known.sort(), [
    'notifications/message',
    'notifications/progress',
    'notifications/prompts/list_changed',
    'notifications/resources/list_changed',
    'notifications/resources/updated',
    'notifications/subscriptions/acknowledged',
    'notifications/tools/list_changed',
  ])
  const before = [...ClientNotificationSchema.options, ...ServerNotificationSchema.options].map(
    option => option.shape.method.value as string,
  )
  t.same(
    known.filter(method => !before.includes(method)),
    ['notifications/subscriptions/acknowledged'],
  )
})

t.test(
  'which results are cacheable, which may ask for input, and which requests are named in a header',
  async t => {
    t.same([...REQUESTS.keys()].filter(isCacheable).sort(), [
      'prompts/list',
      'resources/list',
      'resources/read',
      'resources/templates/list',
      'server/discover',
      'tools/list',
    ])
    t.same([...REQUESTS.keys()].filter(methodMayNeedInput).sort(), [
      'prompts/get',
      'resources/read',
      'tools/call',
    ])
    t.notOk(isCacheable('initialize') || methodMayNeedInput('tasks/get') || isCacheable('constructor'))
    t.same(Object.fromEntries(NAMED_BY), {
      'tools/call': 'name',
      'prompts/get': 'name',
      'resources/read': 'uri',
      'tasks/get': 'taskId',
      'tasks/update': 'taskId',
      'tasks/cancel': 'taskId',
    })
  },
)

t.test('versions, reserved keys and log levels match the specification literally', async t => {
  t.equal(MODERN_REVISION, '2026-07-28')
  t.same(META, {
    protocolVersion: 'io.modelcontextprotocol/protocolVersion',
    clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
    clientInfo: 'io.modelcontextprotocol/clientInfo',
    logLevel: 'io.modelcontextprotocol/logLevel',
    serverInfo: 'io.modelcontextprotocol/serverInfo',
    subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  })
  t.same(LOG_LEVELS, ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'])
  t.ok(isLogLevel('alert'))
  t.notOk(isLogLevel('fatal') || isLogLevel(''))
})
