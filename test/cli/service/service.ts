import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { isWindows, until } from '../../support/processes.js'
import { BIN, configFile, runHere, setEnv, tiny } from '../../support/proxy/start.js'

const MANAGER = fileURLToPath(new URL('../../fixtures/service-manager.mjs', import.meta.url))

/** A home, and programs in PATH that stand in for the managers of services. */
const setUp = (t: Test, { fails = '', starts = false } = {}) => {
  const file = configFile(t, { t: tiny() }, { listen: { port: 0 } })
  const home = dirname(file)
  const bin = join(home, 'bin')
  mkdirSync(bin)
  for (const name of ['systemctl', 'launchctl', 'schtasks']) {
    const fake = join(bin, name)
    writeFileSync(
      fake,
      `#!${process.execPath}\nprocess.argv[1] = ${JSON.stringify(fake)}\nimport(${JSON.stringify(MANAGER)})\n`,
    )
    chmodSync(fake, 0o755)
  }
  const log = join(home, 'commands')
  writeFileSync(log, '')
  setEnv(t, {
    HOME: home,
    LOCALAPPDATA: join(home, 'Local'),
    PATH: `${bin}:${process.env['PATH']}`,
    FAKE_LOG: log,
    FAKE_FAILS: fails,
    FAKE_START: starts ? JSON.stringify([process.execPath, BIN, 'serve', '--config', file, '--service']) : '',
  })
  const commands = () =>
    readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .filter(line => line !== '')
  return { file, home, unit: join(home, '.config/systemd/user/mcp-proxy.service'), commands }
}

/** Runs on the managers of another system; what they would start is not. */
const playOn = (t: Test, platform: NodeJS.Platform): void => {
  t.intercept(process, 'platform', { value: platform, configurable: true })
}

t.test('a service is installed, looked at and removed', { skip: process.platform !== 'linux' }, async t => {
  const { file, unit, commands } = setUp(t, { starts: true })
  const run = (...words: string[]) => runHere(t, 'service', ...words)
  t.match(await run('status'), { code: 4, out: /^no service is installed \(systemd, / })
  t.match(await run('uninstall'), { code: 0, err: /no service is installed/ })
  const jsonOf = async (...words: string[]) => JSON.parse((await run(...words, '--json')).out)
  t.match(await jsonOf('uninstall'), { version: 1, wasInstalled: false, file: unit })
  const printed = await run('print', '--config', file)
  t.notOk(existsSync(unit), 'print writes nothing')
  t.match(await run('install', '--config', file), {
    code: 0,
    out: /^mcp-proxy (?:runs, pid \d+|does not answer yet), starts at login: /,
    err: /after logout too: loginctl enable-linger/,
  })
  t.equal(readFileSync(unit, 'utf8'), printed.out)
  t.same(commands().slice(0, 2), [
    'systemctl --user daemon-reload',
    'systemctl --user enable --now mcp-proxy',
  ])
  const proxyOf = async () => JSON.parse((await run('status', '--json')).out).proxy
  await until(async () => (await proxyOf()) !== undefined, 'the proxy')
  t.match(await run('status'), {
    code: 0,
    out: new RegExp(`^systemd: runs, pid \\d+.*configuration ${file}\nlog `, 's'),
  })
  const { isInstalled, isActive, command, proxy, problems, version } = JSON.parse(
    (await run('status', '--json')).out,
  )
  t.same(
    [isInstalled, isActive, command.slice(-2), problems, version],
    [true, true, [file, '--service'], [], 1],
  )
  t.match(await jsonOf('install', '--config', file), { version: 1, file: unit, pid: proxy.pid })
  t.equal((await proxyOf()).pid, proxy.pid, 'a second time changes nothing')
  t.match(await run('install', '--config', file, '--port', '0'), { code: 0 })
  t.match(readFileSync(unit, 'utf8'), '--service --port 0\n', 'and other wishes replace it')
  await until(async () => (await proxyOf()) !== undefined, 'the next proxy')
  t.not((await proxyOf()).pid, proxy.pid)
  t.match(await jsonOf('uninstall'), { version: 1, wasInstalled: true, file: unit })
  t.notOk(existsSync(unit))
  t.same(commands().slice(-3), [
    'systemctl --user disable --now mcp-proxy',
    'ended with 0',
    'systemctl --user daemon-reload',
  ])
})

t.test('a service with missing files reports them', { skip: process.platform !== 'linux' }, async t => {
  const { unit } = setUp(t)
  mkdirSync(dirname(unit), { recursive: true })
  const command = '"/nowhere/node" "/nowhere/mcp-proxy.js" serve --config "/nowhere/mcp.json" --service'
  writeFileSync(unit, `[Service]\nExecStart=${command}\n`)
  const { out } = await runHere(t, 'service', 'status')
  for (const path of ['node', 'mcp-proxy.js', 'mcp.json'])
    t.match(
      out,
      `D045: the service starts /nowhere/${path}, which does not exist; fix: mcp-proxy service install`,
    )
})

t.test('a service that cannot be installed leaves nothing behind', { skip: isWindows }, async t => {
  const wanted = {
    linux: ['.config/systemd/user/mcp-proxy.service', 'enable', 'systemctl --user enable --now mcp-proxy'],
    darwin: [
      'Library/LaunchAgents/mcp-proxy-daemon.plist',
      'bootstrap',
      'launchctl bootstrap gui/\\d+ .*plist',
    ],
    win32: ['Local/mcp-proxy/mcp-proxy-task.xml', 'Run', 'schtasks /Run /TN mcp-proxy'],
  } as const
  for (const [platform, [path, fails, command]] of Object.entries(wanted)) {
    await t.test(platform, async t => {
      const { file, home, commands } = setUp(t, { fails })
      playOn(t, platform as NodeJS.Platform)
      const ran = await runHere(t, 'service', 'install', '--config', file)
      t.match(ran, {
        code: 4,
        err: new RegExp(
          `${command}: Failed to connect to bus\n  why: nothing is installed\n  fix: .*daemon start`,
        ),
      })
      t.match(commands().join('\n'), new RegExp(command))
      t.notOk(existsSync(join(home, path)))
    })
  }
})

t.test(
  'a service that cannot be replaced is what it was before',
  { skip: process.platform !== 'linux' },
  async t => {
    const { file, unit } = setUp(t, { fails: 'enable --now' })
    mkdirSync(dirname(unit), { recursive: true })
    const before = '[Service]\nExecStart="/n" "/s" serve --config "/f" --service\n'
    writeFileSync(unit, before)
    t.match(await runHere(t, 'service', 'install', '--config', file), {
      code: 4,
      err: /the service was not changed/,
    })
    t.equal(readFileSync(unit, 'utf8'), before)
  },
)

t.test('foreign and unknown files are left alone', { skip: isWindows }, async t => {
  const { file, unit, commands } = setUp(t)
  mkdirSync(dirname(unit), { recursive: true })
  writeFileSync(unit, '[Service]\nExecStart=/usr/bin/mcp-proxy --port 1 uvx x\n')
  playOn(t, 'linux')
  for (const words of [['install', '--config', file], ['uninstall'], ['status']])
    t.match(await runHere(t, 'service', ...words), { code: 4, err: /is not the service of this program/ })
  t.same(commands(), [])
  t.match(await runHere(t, 'service', 'install', '--config', '/nowhere/mcp.json'), { code: 3 })
  t.match(await runHere(t, 'service', 'install', '--config', file, '--port', 'x'), {
    code: 2,
    err: /--port must be/,
  })
  playOn(t, 'freebsd')
  t.match(await runHere(t, 'service', 'status'), { code: 4, err: /services are not supported on freebsd/ })
  t.match(await runHere(t, 'service', 'print', '--platform', 'win32', '--config', file), {
    code: 0,
    out: /T\0a\0s\0k\0/,
  })
})
