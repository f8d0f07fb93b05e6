/** What a service runs. All paths are absolute. */
export interface ServiceProgram {
  readonly node: string
  /** `bin/mcp-proxy.js`. */
  readonly script: string
  readonly config: string
  /** Where launchd writes what the program says. */
  readonly log: string
  readonly port: number | undefined
  /** `MCP_PROXY_RUN_DIR`, by which shims of this user look elsewhere for the proxy. */
  readonly runDir: string | undefined
  /** `XDG_STATE_HOME`, below which verbs of this user look for the record of the proxy. */
  readonly stateHome?: string | undefined
  /** The account at whose login Windows starts it. */
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

/** A word as systemd.syntax(7) quotes it. */
const quoted = (word: string): string => `"${word.replace(/[\\"%\n\r\t]/g, sign => ESCAPES[sign] ?? sign)}"`

/** Variables are put in place in arguments, but not in the program (systemd.service(5)). */
const quotedArgument = (word: string): string => quoted(word).replaceAll('$', '$$$$')

/** systemd starts no program with such a path itself. */
const UNSAFE = /[\\"']/

const quotedProgram = (node: string): string =>
  UNSAFE.test(node) ? `/usr/bin/env ${quotedArgument(node)}` : quoted(node)

/** A user unit of systemd. */
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

/** An agent of launchd. */
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

/** A task of Windows, which gives a program no variables. To be written in UTF-16. */
export const taskXml = (program: ServiceProgram): string => {
  const { node, script, config, user } = program
  // No file of Windows has a quote in its name.
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

/** The command line in a file that was written here, whichever it is; undefined in one of somebody else. */
export const commandIn = (text: string): readonly string[] | undefined => {
  const words = unitWords(text) ?? plistWords(text) ?? taskWords(text) ?? []
  return words.includes('serve') && words.includes('--service') ? words : undefined
}

const SIGNS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }

const unitWords = (text: string): readonly string[] | undefined => {
  const line = /^ExecStart=(?:\/usr\/bin\/env )?(.*)$/m.exec(text)?.[1]
  const words = line?.match(/"(?:[^"\\]|\\.)*"|[^\s"]+/g)
  return words?.map((word, index) => {
    const plain = word
      .replace(/^"|"$/g, '')
      .replace(/\\(.)/g, (_, sign: string) => SIGNS[sign] ?? sign)
      .replaceAll('%%', '%')
    // The program itself is written as it is, unless systemd is not to start it.
    return index === 0 && !UNSAFE.test(plain) ? plain : plain.replaceAll('$$', '$')
  })
}

const plistWords = (text: string): readonly string[] | undefined => {
  const list = /<key>ProgramArguments<\/key><array>(.*?)<\/array>/s.exec(text)?.[1]
  return list === undefined
    ? undefined
    : [...list.matchAll(/<string>(.*?)<\/string>/gs)].map(([, word = '']) => fromXml(word))
}

const taskWords = (text: string): readonly string[] | undefined => {
  const [, program, words] = /<Command>(.*?)<\/Command>\s*<Arguments>(.*?)<\/Arguments>/s.exec(text) ?? []
  if (program === undefined || words === undefined) return undefined
  const found = fromXml(words).match(/"[^"]*"|\S+/g) ?? []
  return [fromXml(program), ...found.map(word => word.replaceAll('"', ''))]
}

const fromXml = (text: string): string =>
  text.replace(
    /&(?:amp|lt|gt|quot);/g,
    name => Object.keys(ENTITIES).find(sign => ENTITIES[sign] === name) ?? name,
  )
