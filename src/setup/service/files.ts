/** Parameters of a service. All paths are absolute. */
export interface ServiceProgram {
  readonly node: string
  /** Path of `bin/mcp-proxy.js`. */
  readonly script: string
  readonly config: string
  /** Output file for launchd. */
  readonly log: string
  readonly port: number | undefined
  /** `MCP_PROXY_RUN_DIR`, where this user's shims look for the proxy. */
  readonly runDir: string | undefined
  /** `XDG_STATE_HOME`, where this user's verbs look for the proxy's record. */
  readonly stateHome?: string | undefined
  /** Account at whose login Windows starts it. */
  readonly user: string
}

const afterConfig = ({ port }: ServiceProgram): readonly string[] => [
  '--service',
  ...(port === undefined ? [] : ['--port', String(port)]),
]

const variablesOf = ({ runDir, stateHome }: ServiceProgram): readonly (readonly [string, string])[] => [
  ...(runDir === undefined ? [] : [['MCP_PROXY_RUN_DIR', runDir] as const]),
  ...(stateHome === undefined ? [] : [['XDG_STATE_HOME', stateHome] as const]),
]

// ── systemd ──

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '"': '\\"',
  '%': '%%',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
}

/** Quotes a word as in systemd.syntax(7). */
const quoted = (word: string): string => `"${word.replace(/[\\"%\n\r\t]/g, sign => ESCAPES[sign] ?? sign)}"`

/** systemd expands variables in arguments, but not in the program (systemd.service(5)). */
const quotedArgument = (word: string): string => quoted(word).replaceAll('$', '$$$$')

/** Characters that systemd does not allow in a program path. */
const UNSAFE = /[\\"']/

const quotedProgram = (node: string): string =>
  UNSAFE.test(node) ? `/usr/bin/env ${quotedArgument(node)}` : quoted(node)

/** Returns a systemd user unit. */
export const systemdUnit = (program: ServiceProgram): string => {
  const { node, script, config } = program
  const words = ['serve', '--config', quotedArgument(config), ...afterConfig(program)]
  const variables = variablesOf(program).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}\n`)
  return `[Unit]
Description=MCP Proxy
StartLimitIntervalSec=300
StartLimitBurst=10
[Service]
ExecStart=${quotedProgram(node)} ${quotedArgument(script)} ${words.join(' ')}
${variables.join('')}ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
RestartSec=1
RestartPreventExitStatus=2 3
KillMode=mixed
TimeoutStopSec=20
UMask=0077
NoNewPrivileges=yes
[Install]
WantedBy=default.target
`
}

// ── launchd ──

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const xml = (text: string): string => text.replace(/[&<>"]/g, sign => ENTITIES[sign] ?? sign)

const strings = (words: readonly string[]): string =>
  words.map(word => `<string>${xml(word)}</string>`).join('')

/** Returns a launchd agent. */
export const launchdPlist = (program: ServiceProgram): string => {
  const { node, script, config, log } = program
  const words = [node, script, 'serve', '--config', config, ...afterConfig(program)]
  const pairs = variablesOf(program).map(([name, value]) => `<key>${name}</key>${strings([value])}`)
  const variables =
    pairs.length === 0 ? '' : `<key>EnvironmentVariables</key><dict>${pairs.join('')}</dict>\n`
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
<key>Label</key><string>mcp-proxy-daemon</string>
<key>ProgramArguments</key><array>${strings(words)}</array>
${variables}<key>RunAtLoad</key><true/>
<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
<key>ExitTimeOut</key><integer>20</integer>
<key>StandardOutPath</key>${strings([log])}<key>StandardErrorPath</key>${strings([log])}
</dict></plist>
`
}

// ── Windows ──

/** Returns a Windows task, to be written in UTF-16. Tasks cannot set variables. */
export const taskXml = (program: ServiceProgram): string => {
  const { node, script, config, user } = program
  // Windows does not allow quotes in file names.
  const words = [`"${script}"`, 'serve', '--config', `"${config}"`, ...afterConfig(program)]
  return `<?xml version="1.0" encoding="UTF-16"?>
<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">
  <RegistrationInfo>
    <Description>MCP Proxy</Description>
  </RegistrationInfo>
  <Triggers>
    <LogonTrigger>
      <Enabled>true</Enabled>
      <UserId>${xml(user)}</UserId>
    </LogonTrigger>
  </Triggers>
  <Principals>
    <Principal id="Author">
      <UserId>${xml(user)}</UserId>
      <LogonType>InteractiveToken</LogonType>
      <RunLevel>LeastPrivilege</RunLevel>
    </Principal>
  </Principals>
  <Settings>
    <MultipleInstancesPolicy>IgnoreNew</MultipleInstancesPolicy>
    <DisallowStartIfOnBatteries>false</DisallowStartIfOnBatteries>
    <StopIfGoingOnBatteries>false</StopIfGoingOnBatteries>
    <ExecutionTimeLimit>PT0S</ExecutionTimeLimit>
    <Hidden>true</Hidden>
    <RestartOnFailure>
      <Interval>PT1M</Interval>
      <Count>255</Count>
    </RestartOnFailure>
  </Settings>
  <Actions Context="Author">
    <Exec>
      <Command>${xml(node)}</Command>
      <Arguments>${xml(words.join(' '))}</Arguments>
    </Exec>
  </Actions>
</Task>
`.replaceAll('\n', '\r\n')
}

// ── reading ──

/** Parses the command line from any service file written here; undefined for another program's file. */
export const commandIn = (text: string): readonly string[] | undefined => {
  const words = unitArguments(text) ?? plistArguments(text) ?? taskArguments(text) ?? []
  return words.includes('serve') && words.includes('--service') ? words : undefined
}

const SIGNS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

const unitArguments = (text: string): readonly string[] | undefined => {
  const line = /^ExecStart=(?:\/usr\/bin\/env )?(.*)$/m.exec(text)?.[1]
  const words = line?.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g)
  return words?.map((word, index) => {
    const plain = word
      .replace(/^"|"$/g, '')
      .replace(/\\(.)/g, (_, sign: string) => SIGNS[sign] ?? sign)
      .replaceAll('%%', '%')
    // The program itself is not escaped, unless systemd cannot start it directly.
    return index === 0 && !UNSAFE.test(plain) ? plain : plain.replaceAll('$$', '$')
  })
}

const plistArguments = (text: string): readonly string[] | undefined => {
  const list = /<key>ProgramArguments<\/key><array>(.*?)<\/array>/s.exec(text)?.[1]
  return list === undefined
    ? undefined
    : [...list.matchAll(/<string>(.*?)<\/string>/gs)].map(([, word = '']) => fromXml(word))
}

const taskArguments = (text: string): readonly string[] | undefined => {
  const [, program, line] = /<Command>(.*?)<\/Command>\s*<Arguments>(.*?)<\/Arguments>/s.exec(text) ?? []
  if (program === undefined || line === undefined) return undefined
  const found = fromXml(line).match(/"[^"]*"|\S+/g) ?? []
  return [fromXml(program), ...found.map(word => word.replaceAll('"', ''))]
}

const fromXml = (text: string): string =>
  text.replace(
    /&(?:amp|lt|gt|quot);/g,
    name => Object.keys(ENTITIES).find(sign => ENTITIES[sign] === name) ?? name,
  )
