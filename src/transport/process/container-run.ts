import { resolve } from 'node:path'

/** A command line that runs a container, with a file for its id. */
export interface ContainerRun {
  readonly command: string
  readonly args: readonly string[]
  /** The absolute path of the file to which the program writes the id of the container. */
  readonly cidfile: string
  /** True if the arguments named that file already. */
  readonly isGiven: boolean
  /** The program and arguments that stop a container. Its id follows, in the last one if that is a script. */
  readonly stop: readonly string[]
  /** Variables in the command line that select the daemon. */
  readonly env: Readonly<Record<string, string>>
}

interface Found {
  /** The container program with its global options, after the wrappers that reach its daemon. */
  readonly runner: readonly string[]
  /** The index of the first argument of `run`. */
  readonly at: number
}

const STOP = ['stop', '-t', '5'] as const
const RUNNERS = new Set(['docker', 'podman'])
/** Programs whose arguments run on another machine, or are not a command line. */
const ELSEWHERE = new Set(['ssh', 'mosh', 'plink', 'wsl', 'kubectl', 'oc', 'limactl', 'multipass', 'vagrant'])
/** Wrappers without which the program may not reach its daemon. */
const KEPT: ReadonlySet<string> = new Set(
  'sudo doas cmd runuser setpriv gosu su-exec flatpak-spawn host-spawn distrobox-host-exec'.split(' '),
)
/** Programs that run a script as another user or group: `sg docker -c "…"`. */
const SWITCHES = new Set(['sg', 'su'])
const SHELL = /^(?:(?:ba|da|z|k|a|fi|tc|c)?sh|pwsh|powershell)$/
/** Other programs that run a script: `script -qc "…"`, `flock FILE -c "…"`, `env -S "…"`. */
const SCRIPT_RUNNERS = new Set(['sg', 'su', 'runuser', 'script', 'flock', 'env'])
const SCRIPT_FLAG = /^(?:-[a-z]*c|-[a-z]*S|--(?:session-)?command|--split-string|-Command)$/
/** Global options of docker and podman that take a value. */
const WITH_VALUE =
  /^(?:-[cHl]|--(?:context|host|config|log-level|tls(?:cacert|cert|key)|connection|url|identity|root|runroot|tmpdir|module|runtime|runtime-flag|conmon|storage-(?:driver|opt)|cgroup-manager|events-backend|hooks-dir|network-(?:cmd-path|config-dir)|out|ssh|volumepath|imagestore))$/
/** Options of `run` without a value; most take one. */
const FLAG =
  /^(?:-[itdPq]+|--(?:rm|init|interactive|tty|detach|privileged|read-only|publish-all|quiet|no-healthcheck|oom-kill-disable|replace|no-hosts|no-hostname|env-host|http-proxy|rmi|passwd|read-only-tmpfs|unsetenv-all|help))$/
/** A short option followed by its value, such as `-p8080:80`. */
const WITH_OWN_VALUE = /^-[itdPq]*[^itdPq-]./
/** `docker run` in a script: its program, its global options, and the rest. */
const IN_SCRIPT =
  /(^|[\s;&|(])((?:[^\s;&|()'"$]*\/)?(?:docker|podman)(?:\.exe)?)((?:\s+-[^\s'"$`]*(?:\s+[^\s'"$`-][^\s'"$`]*)?)*?)\s+(?:container\s+)?run(?=\s)/
const CIDFILE_IN_SCRIPT = /\s--cidfile(?:=|\s+)(?:'([^']*)'|"([^"]*)"|([^\s'"]+))/

const nameOf = (path: string): string =>
  (path.split(/[/\\]/).at(-1) ?? path).replace(/\.(?:exe|cmd|bat)$/i, '').toLowerCase()

/**
 * Returns a command line that runs a container with a file for its id: the one that the arguments name,
 * relative to `cwd`, or else `ours`. Undefined if it runs no container on this machine.
 */
export const containerRun = (
  command: string,
  args: readonly string[],
  { cwd, ours }: { readonly cwd: string; readonly ours: string },
): ContainerRun | undefined => {
  const words = [command, ...args]
  const found = findRun(words)
  if (found === undefined) return inScript(words, { cwd, ours })
  const { runner, at } = found
  const given = givenIn(words.slice(at))
  const line = given === undefined ? [...words.slice(0, at), '--cidfile', ours, ...words.slice(at)] : words
  const [program = command, ...rest] = line
  const cidfile = given === undefined ? ours : resolve(cwd, given)
  const env = daemonVariables(words.slice(0, at))
  return {
    command: program,
    args: rest,
    cidfile,
    isGiven: given !== undefined,
    stop: [...runner, ...STOP],
    env,
  }
}

/** `DOCKER_HOST=…` and similar variables, in an argument or in a script, which may quote the value. */
const VARIABLE = /(?:^|[\s;&|("'])((?:DOCKER|CONTAINERS?)_\w+)=(?:'([^']*)'|"([^"$`]*)"|([^\s'"$`;&|()]*))/g

const daemonVariables = (words: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    words
      .flatMap(word => [...word.matchAll(VARIABLE)])
      .map(([, name = '', ...values]) => [name, values.join('')]),
  )

/**
 * Returns the words from the first wrapper that is needed to reach the daemon. Leaves out variables that do
 * not select the daemon: they may be secrets.
 */
const wrapperIn = (
  words: readonly string[],
  isKept = (name: string) => KEPT.has(name),
): readonly string[] => {
  const from = words.findIndex(word => isKept(nameOf(word)))
  const isOther = (word: string): boolean => /^\w+=/.test(word) && !/^(?:DOCKER|CONTAINERS?)_/.test(word)
  return from === -1 ? [] : words.slice(from).filter(word => !isOther(word))
}

const findRun = (words: readonly string[]): Found | undefined => {
  for (const [index, word] of words.entries()) {
    if (ELSEWHERE.has(nameOf(word)) || SWITCHES.has(nameOf(word))) return undefined
    if (!RUNNERS.has(nameOf(word))) continue
    let at = index + 1
    while (words[at]?.startsWith('-') === true) at += WITH_VALUE.test(words[at] ?? '') ? 2 : 1
    const end = at
    if (words[at] === 'container') at += 1
    if (words[at] !== 'run') return undefined
    return { runner: [...wrapperIn(words.slice(0, index)), ...words.slice(index, end)], at: at + 1 }
  }
  return undefined
}

/** Returns the file that options before the image name. */
const givenIn = (options: readonly string[]): string | undefined => {
  for (let at = 0; options[at]?.startsWith('-') === true; at += 1) {
    const word = options[at] ?? ''
    if (word === '--cidfile') return options[at + 1]
    if (word.startsWith('--cidfile=')) return word.slice('--cidfile='.length)
    if (!word.includes('=') && !FLAG.test(word) && !WITH_OWN_VALUE.test(word)) at += 1
  }
  return undefined
}

/** Handles `sh -c "exec docker run …"`, and `cmd /c` with one argument. */
const inScript = (
  words: readonly string[],
  { cwd, ours }: { readonly cwd: string; readonly ours: string },
): ContainerRun | undefined => {
  const index = words.findIndex((_word, at) => isScript(words, at))
  const script = words[index] ?? ''
  const found = IN_SCRIPT.exec(script)
  const before = words.slice(0, Math.max(0, index))
  if (found === null || before.some(word => ELSEWHERE.has(nameOf(word)))) return undefined
  const [all, , program = '', options = ''] = found
  const end = found.index + all.length
  const given = givenInScript(script.slice(end))
  // Only the shell knows the value of a variable.
  if (given?.includes('$') === true) return undefined
  const quote = isCmd(words) ? '"' : "'"
  const added = given === undefined ? ` --cidfile ${quote}${ours}${quote}` : ''
  const [command = '', ...args] = words.with(index, script.slice(0, end) + added + script.slice(end))
  const stop = [program, ...options.split(/\s+/).filter(word => word !== ''), ...STOP]
  const cidfile = given === undefined ? ours : resolve(cwd, given)
  const env = daemonVariables([...before, script.slice(0, found.index + 1)])
  return { command, args, cidfile, isGiven: given !== undefined, stop: inWrapper(before, stop), env }
}

/** Returns the stop command, run as the user or group that the script runs as. */
const inWrapper = (before: readonly string[], stop: readonly string[]): readonly string[] => {
  const isSwitch = (name: string): boolean => KEPT.has(name) || SWITCHES.has(name)
  const wrapper = wrapperIn(before, isSwitch)
  if (wrapper.length === 0 || isCmd(before)) return stop
  return [...wrapper, stop.join(' ')]
}

const isCmd = ([command = '']: readonly string[]): boolean => nameOf(command) === 'cmd'

/** Returns true for the script after `sh -c` or `cmd /c`. */
const isScript = (words: readonly string[], at: number): boolean => {
  const [flag = '', word = ''] = words.slice(Math.max(0, at - 1), at + 1)
  if (at === 0 || !/\s/.test(word)) return false
  if (isCmd(words)) return /^\/[ck]$/i.test(flag)
  const before = words.slice(0, at).map(nameOf)
  // `sg GROUP "…"` needs no flag.
  if (before.at(-2) === 'sg') return true
  return SCRIPT_FLAG.test(flag) && before.some(name => SHELL.test(name) || SCRIPT_RUNNERS.has(name))
}

const givenInScript = (options: string): string | undefined => {
  const [, ...quoted] = CIDFILE_IN_SCRIPT.exec(options) ?? []
  return quoted.find(text => typeof text === 'string')
}
