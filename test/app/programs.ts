import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { skipWithout, until } from '../support/processes.js'
import { configFile, INITIALIZE, startBin, tiny } from '../support/proxy/start.js'

const SKIP = { skip: skipWithout.groups }
const ID = 'ab12'.repeat(16)

/** Puts a `docker` on PATH whose containers outlive it, and which logs its arguments. */
const withDocker = (
  t: Test,
  args: readonly string[],
  flag?: string,
  behind = (words: readonly string[]): readonly string[] => words,
) => {
  const folder = dirname(configFile(t, {}))
  const [bin, run, log] = [join(folder, 'bin'), join(folder, 'run'), join(folder, 'docker.log')]
  mkdirSync(bin)
  mkdirSync(run, { mode: 0o700 })
  const server = tiny(...(flag === undefined ? [] : [flag]))
  const script = [
    '#!/bin/sh',
    `echo "\${DOCKER_HOST:+$DOCKER_HOST }$*" >> '${log}'`,
    'case "$1" in stop) exit 0;; esac',
    'for word; do if [ "$last" = --cidfile ]; then cid=$word; fi; last=$word; done',
    'if [ -e "$cid" ]; then echo "container ID file found" >&2; exit 125; fi',
    `printf %s ${ID} > "$cid"`,
    `exec ${[server.command, ...server.args].map(word => `'${word}'`).join(' ')}`,
  ]
  writeFileSync(join(bin, 'docker'), script.join('\n'))
  chmodSync(join(bin, 'docker'), 0o755)
  writeFileSync(join(bin, 'sg'), '#!/bin/sh\n[ "$2" = -c ] && exec env DOCKER_HOST=unix:///$1 sh -c "$3"\n')
  chmodSync(join(bin, 'sg'), 0o755)
  const [command = '', ...rest] = behind(['docker', 'run', ...args, '-i', 'image'])
  const file = configFile(t, { box: { command, args: rest } })
  const env = {
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    MCP_PROXY_RUN_DIR: run,
    XDG_STATE_HOME: join(folder, 'state'),
  }
  const start = async () => {
    const proxy = startBin(t, ['stdio', '--config', file], { env })
    const call = { id: 2, method: 'tools/call', params: { name: 'box__echo', arguments: {} } }
    proxy.send(INITIALIZE, { method: 'notifications/initialized' }, call)
    t.match(await proxy.line(/"id":2/), /"result"/)
    return proxy
  }
  const logged = () => readFileSync(log, 'utf8').trim().split('\n')
  const cidfiles = () => readdirSync(run).filter(name => name.endsWith('.cid'))
  return { folder, start, logged, cidfiles }
}

t.test('a container that does not end by itself is stopped by its id', SKIP, async t => {
  const { start, logged, cidfiles } = withDocker(t, ['--rm'], '--stubborn')
  const proxy = await start()
  t.match(logged(), [/^run --cidfile \S+\.cid --rm -i image$/])
  t.equal(cidfiles().length, 1)
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
  t.equal(logged().at(-1), `stop -t 5 ${ID}`)
  t.same(cidfiles(), [])
})

for (const [name, behind, host] of [
  ['env', (words: readonly string[]) => ['env', 'DOCKER_HOST=tcp://a:1', ...words], 'tcp://a:1'],
  ['sg', (words: readonly string[]) => ['sg', 'docker', '-c', words.join(' ')], 'unix:///docker'],
] as const)
  t.test(`a container behind ${name} is stopped where it runs`, SKIP, async t => {
    const { start, logged, cidfiles } = withDocker(t, ['--rm'], '--stubborn', behind)
    const proxy = await start()
    t.match(logged(), [new RegExp(`^${host} run --cidfile \\S+\\.cid --rm -i image$`)])
    proxy.child.stdin?.end()
    t.equal(await proxy.exited, 0)
    t.equal(logged().at(-1), `${host} stop -t 5 ${ID}`)
    t.same(cidfiles(), [])
  })

t.test('a container that ends with its input is not stopped', SKIP, async t => {
  const { start, logged, cidfiles } = withDocker(t, [])
  const proxy = await start()
  proxy.child.stdin?.end()
  t.equal(await proxy.exited, 0)
  t.equal(logged().length, 1)
  t.same(cidfiles(), [])
})

t.test('a file that the arguments name is used, and is no obstacle after a crash', SKIP, async t => {
  const { folder, start, logged, cidfiles } = withDocker(t, ['--cidfile', 'own.cid'], '--stubborn')
  writeFileSync(join(folder, '1', 'own.cid'), ID)
  const proxy = await start()
  t.same(logged(), ['run --cidfile own.cid -i image'])
  proxy.child.stdin?.end()
  await proxy.exited
  t.equal(logged().at(-1), `stop -t 5 ${ID}`)
  t.same(cidfiles(), [])
  t.notOk(existsSync(join(folder, '1', 'own.cid')))
})

t.test('the next proxy stops the container of one that was killed', SKIP, async t => {
  const { folder, start, logged, cidfiles } = withDocker(t, [], '--stubborn')
  const proxy = await start()
  const records = join(folder, 'state', 'mcp-proxy', 'instances')
  const isRecorded = () =>
    existsSync(records) &&
    readdirSync(records).some(name => readFileSync(join(records, name), 'utf8').includes('.cid'))
  await until(isRecorded, 'the record of the container')
  proxy.child.kill('SIGKILL')
  await proxy.exited
  const next = await start()
  await until(() => logged().includes(`stop -t 5 ${ID}`), 'the end of the container')
  await until(() => cidfiles().length === 1, 'one file, of the new container')
  next.child.stdin?.end()
  await next.exited
})
