import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ServerConfig, StdioTransport } from '../../config/types.js'
import { literalSecrets } from '../../doctor/checks/configuration.js'
import type { FactSources } from '../../doctor/examine.js'
import type { ConfigFacts, ProgramFacts } from '../../doctor/facts.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import { inheritedEnv } from '../../kernel/machine/inherited-env.js'
import { packageFile } from '../../kernel/machine/package-file.js'
import { configTarget } from '../shared/configuration.js'
import { ownScripts, setupFiles, setupMachine } from '../shared/setup-files.js'

export interface DoctorSourceOptions {
  readonly config: string | undefined
  readonly server: string | undefined
  readonly isOffline: boolean
  readonly timeoutMs: number
  /** Called with the servers whose copies are started. */
  readonly onCopies?: ((servers: readonly string[]) => void) | undefined
}

/** Returns the sources of `doctor`'s facts on this machine. */
export const sourcesOf = (options: DoctorSourceOptions): FactSources => {
  const file = resolve(configTarget(options.config))
  let config: Promise<ConfigFacts | undefined> | undefined
  const configured = (): Promise<ConfigFacts | undefined> => (config ??= readConfig(file, options.isOffline))
  const servers = async (): Promise<readonly ServerConfig[]> =>
    ((await configured())?.loaded.config?.servers ?? []).filter(
      ({ name }) => options.server === undefined || name === options.server,
    )
  const programs = async () => await readPrograms(await servers())
  const machine = async () => await import('./machine.js')
  const daemon = once(async () => (await machine()).readDaemon(file, options.isOffline))
  return {
    installation: readInstalled,
    file: async () => {
      const { readConfigText } = await import('../../config/load.js')
      const read = await readConfigText(file)
      if ('text' in read) return { file, why: undefined }
      return { file, why: read.unusable.problems[0]?.message, isMissing: read.isMissing }
    },
    config: configured,
    shell: async () => await (await machine()).readShell(await configured()),
    programs,
    docker: async () => await (await machine()).readDocker(await programs()),
    daemon,
    processes: async () => await (await machine()).readProcesses(file, await daemon()),
    service: async () => await (await import('./service.js')).readService(options.isOffline),
    port: async () => await (await machine()).configuredPort(await configured(), await daemon()),
    trial: async () => await (await machine()).tryDaemon(file, await configured(), await daemon()),
    clients: async () => await readClientFiles(file, options.isOffline),
    probes: async () => {
      const { readProbes } = await import('./probes.js')
      const { timeoutMs, onCopies } = options
      const found = await configured()
      if (found === undefined) return undefined
      const [asked, running] = [await servers(), await daemon()]
      return await readProbes(file, found, { servers: asked, timeoutMs, daemon: running, onCopies })
    },
  }
}

const once = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let found: Promise<T> | undefined
  return () => (found ??= work())
}

const readInstalled: FactSources['installation'] = async () => {
  const [{ readInstallation }, { stateDir }] = await Promise.all([
    import('../../doctor/look/installation.js'),
    import('../../state/state-key.js'),
  ])
  return readInstallation({
    version: IDENTITY.version,
    folder: fileURLToPath(packageFile('.')).replace(/[/\\]$/, ''),
    state: stateDir(process.env),
    path: process.env['PATH'] ?? '',
    platform: process.platform,
    node: process.version,
    uid: process.getuid?.(),
  })
}

const modeOf = (path: string): number | undefined => {
  const found = process.platform === 'win32' ? undefined : statSync(path, { throwIfNoEntry: false })
  return found?.isFile() === true ? found.mode & 0o777 : undefined
}

/** Undefined if the file is missing or unusable. */
const readConfig = async (file: string, isOffline: boolean): Promise<ConfigFacts | undefined> => {
  const [{ readConfigText }, { openOwnFile }, { files }, { loadFile }, { addSecrets }, { secretsOf }] =
    await Promise.all([
      import('../../config/load.js'),
      import('../../setup/own-file.js'),
      setupFiles(),
      import('../shared/configuration.js'),
      import('../../kernel/secrets/mask.js'),
      import('../../config/read/secrets.js'),
    ])
  if (!('text' in (await readConfigText(file)))) return undefined
  const loaded = await loadFile(file, isOffline ? undefined : await ourEnvironment())
  if (loaded.config !== undefined) addSecrets(secretsOf(loaded.config))
  const facts = { file, loaded, waiting: loaded.config?.waiting ?? [] }
  try {
    const {
      servers: entries,
      variables,
      secrets,
      file: opened,
    } = await openOwnFile(files, file, setupMachine())
    addSecrets([...Object.values(variables), ...literalSecrets(entries.values())])
    const envFile = { path: secrets.path, mode: modeOf(secrets.path), values: variables }
    return { ...facts, entries, mode: modeOf(opened.state.path), envFile }
  } catch {
    // A file that cannot be edited, such as one with repeated keys, may still be readable.
    const envFile = { path: '', mode: undefined, values: {} }
    return { ...facts, entries: new Map(), mode: modeOf(file), envFile }
  }
}

/** Returns this process's variables, completed from the login shell, as a daemon resolves them. */
const ourEnvironment = async () => {
  const { ProxyEnvironment } = await import('../../control/environment/environment.js')
  // D022 reports the shell's problem.
  return new ProxyEnvironment({ env: process.env, isPersons: true, tell: () => undefined })
}

const readPrograms = async (servers: readonly ServerConfig[]): Promise<readonly ProgramFacts[]> => {
  const { findProgram, searchedWords } = await import('../../doctor/look/programs.js')
  return servers.flatMap(({ name, transport }) => {
    if (transport.kind !== 'stdio' || transport.command.includes('${')) return []
    const { command, args } = transport
    const search = searchFor(transport)
    const path = findProgram(command, search)
    return [{ server: name, command, args, path, searched: searchedWords(command, search) }]
  })
}

const searchFor = ({ env, cwd = process.cwd() }: StdioTransport) => {
  const all = inheritedEnv(process.env, env, process.platform)
  const valueOf = (name: string): string =>
    Object.entries(all).find(([key]) => key.toUpperCase() === name)?.[1] ?? ''
  return { path: valueOf('PATH'), extensions: valueOf('PATHEXT'), platform: process.platform, cwd }
}

const readClientFiles = async (file: string, isOffline: boolean) => {
  const [{ files, state }, { Journals }, { readClientFiles }, { openOwnFile }, { isListening }] =
    await Promise.all([
      setupFiles(),
      import('../../setup/install/journal.js'),
      import('../../doctor/look/clients.js'),
      import('../../setup/own-file.js'),
      import('./addresses.js'),
    ])
  const machine = setupMachine()
  const own = await openOwnFile(files, file, machine).catch(() => undefined)
  const journals = new Journals(files.disk, state)
  const marks = { scripts: ownScripts(), urls: own?.urls ?? [] }
  const clients = await readClientFiles({
    ...{ machine, disk: files.disk, journals, own: marks, config: file },
    isAlive: async url => isOffline || (await isListening(url)),
  })
  const installs = await journals.all().catch(() => [])
  if (own === undefined || installs.every(({ install }) => install.removed.length === 0)) return clients
  const { deadRulesOf } = await import('../setup/client-rules.js')
  const deadRules = await deadRulesOf(installs, { ownFile: own, own: marks })
  return clients.map(each => ({ ...each, deadRules: deadRules.get(each.id) ?? [] }))
}
