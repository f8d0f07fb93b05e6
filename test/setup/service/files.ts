import t from 'tap'
import {
  commandIn,
  launchdPlist,
  type ServiceProgram,
  systemdUnit,
  taskXml,
} from '../../../src/setup/service/files.js'
import { type ServicePlatform, serviceManager } from '../../../src/setup/service/manager.js'

const PLAIN: ServiceProgram = {
  node: '/usr/bin/node',
  script: '/usr/lib/node_modules/mcp-proxy-daemon/bin/mcp-proxy.js',
  config: '/home/ann/mcp.json',
  log: '/home/ann/.local/state/mcp-proxy/log/id.log',
  port: undefined,
  runDir: undefined,
  user: 'PC\\ann',
}
const WORDS = [PLAIN.node, PLAIN.script, 'serve', '--config', PLAIN.config, '--service']

t.test(
  'systemd starts the proxy, and again when it has handed over, but not with a bad configuration',
  async t => {
    t.equal(
      systemdUnit(PLAIN),
      `[Unit]
Description=MCP Proxy
StartLimitIntervalSec=300
StartLimitBurst=10
[Service]
ExecStart="/usr/bin/node" "${PLAIN.script}" serve --config "/home/ann/mcp.json" --service
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=2 3
KillMode=mixed
TimeoutStopSec=20
UMask=0077
NoNewPrivileges=yes
[Install]
WantedBy=default.target
`,
    )
    t.match(systemdUnit({ ...PLAIN, port: 8808 }), '--service --port 8808\n')
    t.match(systemdUnit({ ...PLAIN, runDir: '/r u' }), '\nEnvironment="MCP_PROXY_RUN_DIR=/r u"\n')
  },
)

t.test('launchd starts the proxy at login, and again unless it ended in order', async t => {
  const strings = WORDS.map(word => `<string>${word}</string>`).join('')
  const plist = launchdPlist(PLAIN)
  t.match(
    plist,
    `<key>Label</key><string>mcp-proxy-daemon</string>
<key>ProgramArguments</key><array>${strings}</array>
<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
<key>ExitTimeOut</key><integer>20</integer>
<key>StandardOutPath</key><string>${PLAIN.log}</string><key>StandardErrorPath</key><string>${PLAIN.log}</string>
</dict></plist>
`,
  )
  const moved = launchdPlist({ ...PLAIN, runDir: '/r&u' })
  t.match(moved, '<dict><key>MCP_PROXY_RUN_DIR</key><string>/r&amp;u</string></dict>\n')
})

t.test('Windows starts the proxy at the login of this user, with no more rights than theirs', async t => {
  const xml = taskXml(PLAIN)
  t.match(xml, /^<\?xml version="1.0" encoding="UTF-16"\?>\r\n/)
  for (const part of [
    /<LogonTrigger>\s*<Enabled>true<\/Enabled>\s*<UserId>PC\\ann<\/UserId>/,
    '<LogonType>InteractiveToken</LogonType>',
    '<RunLevel>LeastPrivilege</RunLevel>',
    '<MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>',
    '<DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>',
    '<StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>',
    '<ExecutionTimeLimit>PT0S</ExecutionTimeLimit>',
    '<Hidden>true</Hidden>',
    /<RestartOnFailure>\s*<Interval>PT1M<\/Interval>\s*<Count>255<\/Count>/,
    '<Command>/usr/bin/node</Command>',
    `<Arguments>&quot;${PLAIN.script}&quot; serve --config &quot;/home/ann/mcp.json&quot; --service</Arguments>`,
  ])
    t.match(xml, part)
})

t.test('paths of every kind come back as they were', async t => {
  const odd = [
    '/a b/c',
    '/100%/%i',
    '/q"q\'/x',
    '/R&D <1>/x',
    '/$HOME/${x}/$$',
    '/back\\slash\\n',
    '/日本/ü',
    '/l\nl',
  ]
  const folders = ['/usr/bin', ...odd]
  for (const folder of folders) {
    for (const node of ['/usr/bin', folder]) {
      const program = {
        ...PLAIN,
        node: `${node}/node`,
        script: `${folder}/p.js`,
        config: `${folder}/mcp.json`,
        port: 1,
      }
      const words = [
        program.node,
        program.script,
        'serve',
        '--config',
        program.config,
        '--service',
        '--port',
        '1',
      ]
      t.same(commandIn(systemdUnit(program)), words)
      t.same(commandIn(launchdPlist(program)), words)
      // Windows has no such names.
      if (!/["\n]/.test(folder)) t.same(commandIn(taskXml(program)), words)
    }
  }
  t.match(
    systemdUnit({ ...PLAIN, node: "/o'b/node" }),
    'ExecStart=/usr/bin/env "/o\'b/node" "',
    'systemd refuses it',
  )
})

t.test('a file of another program is left alone', async t => {
  for (const text of [
    '',
    '[Service]\nExecStart=/usr/bin/mcp-proxy --port 8080 uvx x\n',
    '<plist><dict><key>ProgramArguments</key><array><string>x</string></array></dict></plist>',
    '<Task><Exec><Command>x</Command></Exec></Task>',
  ])
    t.equal(commandIn(text), undefined)
})

t.test('each system has its file, and its words to have it read', async t => {
  const of = (platform: ServicePlatform) =>
    serviceManager(platform, { platform, home: '/h', cwd: '/', env: { LOCALAPPDATA: '/L' } }, 501)
  t.match(of('linux'), {
    file: '/h/.config/systemd/user/mcp-proxy.service',
    install: [
      ['systemctl', '--user', 'daemon-reload'],
      ['systemctl', '--user', 'enable', '--now', 'mcp-proxy'],
    ],
  })
  const file = '/h/Library/LaunchAgents/mcp-proxy-daemon.plist'
  t.match(of('darwin'), {
    file,
    install: [['launchctl', 'bootstrap', 'gui/501', file]],
    uninstall: [['launchctl', 'bootout', 'gui/501/mcp-proxy-daemon']],
  })
  const windows = of('win32')
  t.same(windows.install[0], ['schtasks', '/Create', '/TN', 'mcp-proxy', '/XML', windows.file])
  const bytes = windows.bytes(PLAIN)
  t.same([...bytes.subarray(0, 4)], [0xff, 0xfe, 0x3c, 0], 'UTF-16, and says so')
  t.same(commandIn(windows.text(bytes)), WORDS)
})
