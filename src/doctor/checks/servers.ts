import { errorLines, withErrorLine } from '../../kernel/error-lines.js'
import type { ConfigFacts, DaemonFacts, Facts, Probe, ProgramFacts } from '../facts.js'
import { type CheckCode, type Finding, finding, findingOf } from '../finding.js'

/** The installation hints for package runners. */
const GETTING: Readonly<Record<string, (platform: NodeJS.Platform) => Extract<CheckCode, `D030${string}`>>> =
  {
    npx: () => 'D030.npm',
    npm: () => 'D030.npm',
    node: () => 'D030.node',
    uvx: platform => (platform === 'win32' ? 'D030.uv-windows' : 'D030.uv'),
    uv: platform => (platform === 'win32' ? 'D030.uv-windows' : 'D030.uv'),
    docker: () => 'D030.docker',
    bunx: () => 'D030.bun',
  }

const nameOf = (command: string): string =>
  (command.split(/[/\\]/).at(-1) ?? command).replace(/\.(?:exe|cmd|bat)$/i, '').toLowerCase()

interface MissingProgram {
  readonly command: string
  readonly server: string
  readonly why?: string | undefined
}

/** Returns the problem of a program that is not found; for package runners with an installation hint. */
export const missingProgram = (facts: MissingProgram, platform: NodeJS.Platform): Finding =>
  finding(GETTING[nameOf(facts.command)]?.(platform) ?? 'D030', facts, { subject: facts.server })

export const lookAtPrograms = (
  programs: readonly ProgramFacts[],
  platform: NodeJS.Platform = 'linux',
): readonly Finding[] =>
  programs
    .filter(({ path }) => path === undefined)
    .map(({ server, command, searched }) => missingProgram({ command, server, why: searched }, platform))

const CONTAINER_PROGRAMS = new Set(['docker', 'podman'])
const isContainer = ({ command }: ProgramFacts): boolean => CONTAINER_PROGRAMS.has(nameOf(command))

/** Programs that run the rest of their command line. */
const WRAPPERS = new Set('env sudo doas nice nohup timeout stdbuf setsid cmd'.split(' '))

/** Returns the container program that a command line runs, also behind a wrapper. */
const containerProgram = ({ command, args }: ProgramFacts): string | undefined => {
  const words = WRAPPERS.has(nameOf(command)) ? [command, ...args] : [command]
  return words.map(nameOf).find(name => CONTAINER_PROGRAMS.has(name))
}

/** Returns true if `run` keeps stdin open: `-i`, also combined with other letters, before the image name. */
const isInteractive = (args: readonly string[]): boolean => {
  const from = args.indexOf('run')
  if (from === -1) return true
  return args
    .slice(from + 1)
    .some(arg => /^-[a-zA-Z]*i[a-zA-Z]*$/.test(arg) || /^--interactive(?:=true)?$/.test(arg))
}

export const lookAtContainerFlags = (programs: readonly ProgramFacts[]): readonly Finding[] =>
  programs.flatMap(each => {
    const { server, args } = each
    const program = containerProgram(each)
    return program === undefined || isInteractive(args)
      ? []
      : [finding('D037.no-stdin', { server, program }, { subject: server })]
  })

/** The caller decides whether a container daemon is needed. */
export const lookAtDocker = (
  programs: readonly ProgramFacts[],
  { why }: Facts['docker'],
): readonly Finding[] =>
  why === undefined
    ? []
    : programs
        .filter(each => isContainer(each) && each.path !== undefined)
        .map(({ server }) => finding('D037', { server, why }, { subject: server }))

const LAST_LINES = 5
const LOGINS = new Set(['needs-auth', 'needs-client', 'auth-unreachable', 'insufficient-scope'])
/** A longer start may exceed the timeout of some clients. */
const SLOW_MS = 8000

const isRemote = ({ transport }: Probe): boolean => transport !== 'stdio'
const isRefused = ({ state, address, absence }: Probe): boolean =>
  absence !== 'D035.credentials' &&
  absence !== 'D035.certificate' &&
  absence !== 'D035.reason' &&
  (LOGINS.has(state) || address?.status === 401 || address?.status === 403)

/** Returns the reason why a server did not start, with its last lines on stderr. */
export const failureText = ({
  why = 'no answer in time',
  stderrTail,
}: Pick<Probe, 'why' | 'stderrTail'>): string => {
  const lines = errorLines(stderrTail, LAST_LINES)
  return lines.length === 0 ? why : `${why}; it last wrote: ${lines.join(' | ')}`
}

/** Missing programs and unusable containers are reported by D030 and D037. */
export const lookAtStarts = (
  probes: readonly Probe[],
  programs: readonly ProgramFacts[],
): readonly Finding[] => {
  const known = [...lookAtPrograms(programs), ...lookAtContainerFlags(programs)]
  const missing = new Set(known.map(({ subject }) => subject))
  return probes
    .filter(probe => probe.state === 'failed' && !isRemote(probe) && !missing.has(probe.server))
    .map(probe =>
      finding('D031', { server: probe.server, why: failureText(probe) }, { subject: probe.server }),
    )
}

export const lookAtTimes = (probes: readonly Probe[]): readonly Finding[] =>
  probes
    .filter(({ state, ms }) => state === 'ready' && ms >= SLOW_MS)
    .map(({ server, ms }) => finding('D032', { server, seconds: Math.round(ms / 1000) }, { subject: server }))

export const lookAtWorkspaces = ({ loaded }: ConfigFacts, { sessions }: DaemonFacts): readonly Finding[] =>
  sessions.some(({ workspace }) => workspace !== undefined)
    ? []
    : (loaded.config?.servers ?? [])
        .filter(({ sharing }) => sharing === 'workspace')
        .map(({ name: server }) => finding('D033', { server }, { subject: server }))

export const lookAtNoise = (probes: readonly Probe[]): readonly Finding[] =>
  probes.flatMap(({ server, noise }) =>
    noise === undefined ? [] : [finding('D034.line', { server, line: noise }, { subject: server })],
  )

export const lookAtRemotes = (probes: readonly Probe[]): readonly Finding[] =>
  probes
    .filter(probe => probe.state === 'failed' && isRemote(probe) && !isRefused(probe))
    .map(probe => remoteFinding(probe))

/** Absences whose reason tells more than the status of a direct request. */
const STATED = [
  'D035.gateway',
  'D035.session',
  'D035.page',
  'D035.http',
  'D035.credentials',
  'D035.certificate',
] as const

const isStated = (code: string | undefined): code is (typeof STATED)[number] =>
  (STATED as readonly (string | undefined)[]).includes(code)

const remoteFinding = ({ server, why, address, absence }: Probe): Finding => {
  const subject = { subject: server }
  const found = address?.cause
  const isStatus = found === undefined || found.code === 'D035.broken' || found.code === 'D035.refused'
  if (!isStatus) return findingOf(found)
  if (isStated(absence)) return finding(absence, { server, why }, subject)
  if (absence === 'D035.reason')
    return finding(absence, { server, why, status: address?.status ?? 0 }, subject)
  return found === undefined ? finding('D035', { server, why }, subject) : findingOf(found)
}

/** Returns the variables in the headers of an entry. */
const headerVariables = ({ entries }: ConfigFacts, server: string): readonly string[] =>
  [...JSON.stringify(entries.get(server)?.['headers'] ?? {}).matchAll(/\$\{(?:env:)?(\w+)/g)].map(
    ([, name = '']) => name,
  )

const hasCredential = ({ entries }: ConfigFacts, server: string): boolean =>
  /authorization|api-?key|token/i.test(Object.keys(entries.get(server)?.['headers'] ?? {}).join(' '))

export const lookAtLogins = (probes: readonly Probe[], config: ConfigFacts): readonly Finding[] =>
  probes
    .filter(probe => probe.state !== 'ready' && isRefused(probe))
    .map(({ server, why, address, state }) => {
      const subject = { subject: server }
      const facts = { server, why: why ?? `it answers ${address?.status ?? state}` }
      if (!hasCredential(config, server)) return finding('D036', facts, subject)
      const [name = 'the credential in its headers'] = headerVariables(config, server)
      return finding('D036.credential', { ...facts, name, envFile: config.envFile.path }, subject)
    })

export const lookAtGivenUp = ({ status }: DaemonFacts): readonly Finding[] =>
  (status?.servers ?? [])
    .filter(({ state }) => state === 'failed')
    .map(({ name: server, failures: count, why, retryMs = 0, stderr }) => {
      const again = `tried again in ${Math.ceil(retryMs / 1000)} s`
      const reason = why === undefined ? again : `${withErrorLine(why, stderr)}; ${again}`
      return finding('D039', { server, count, why: reason }, { subject: server })
    })
