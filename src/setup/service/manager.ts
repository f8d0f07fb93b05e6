import { join } from 'node:path'
import { type ClientMachine, foldersOf } from '../clients/machine.js'
import { launchdPlist, type ServiceProgram, systemdUnit, taskXml } from './files.js'

/** Systems with a supported service manager. */
export const SERVICE_PLATFORMS = ['linux', 'darwin', 'win32'] as const
export type ServicePlatform = (typeof SERVICE_PLATFORMS)[number]

/** A program with its arguments. */
export type ServiceCommand = readonly [program: string, ...args: string[]]

/** Commands and file of a system's service manager. */
export interface ServiceManager {
  /** Path of the service file. */
  readonly file: string
  /** Returns the content of the service file. */
  readonly bytes: (program: ServiceProgram) => Buffer
  /** Decodes an existing service file. */
  readonly text: (bytes: Buffer) => string
  /** Commands that load a new file and start the service. */
  readonly install: readonly ServiceCommand[]
  /** Commands that stop and remove the service. */
  readonly uninstall: readonly ServiceCommand[]
  /** Commands to run after the file was removed. */
  readonly afterwards: readonly ServiceCommand[]
  /** Succeeds if the service manager reports the service as running. */
  readonly isActive: ServiceCommand
}

/** Returns the service manager of a platform; `uid` is the current user's id. */
export const serviceManager = (
  platform: ServicePlatform,
  machine: ClientMachine,
  uid: number,
): ServiceManager => {
  const manager = { linux: systemd, darwin: launchd, win32: scheduler }[platform]
  return manager(machine, uid)
}

const utf8 = { text: (bytes: Buffer): string => bytes.toString() }

const systemctl = (...words: string[]): ServiceCommand => ['systemctl', '--user', ...words]

const systemd = ({ home }: ClientMachine): ServiceManager => ({
  ...utf8,
  file: join(home, '.config', 'systemd', 'user', 'mcp-proxy.service'),
  bytes: program => Buffer.from(systemdUnit(program)),
  install: [systemctl('daemon-reload'), systemctl('enable', '--now', 'mcp-proxy')],
  uninstall: [systemctl('disable', '--now', 'mcp-proxy')],
  afterwards: [systemctl('daemon-reload')],
  isActive: systemctl('is-active', '--quiet', 'mcp-proxy'),
})

const launchd = ({ home }: ClientMachine, uid: number): ServiceManager => {
  const file = join(home, 'Library', 'LaunchAgents', 'mcp-proxy-daemon.plist')
  const name = `gui/${uid}/mcp-proxy-daemon`
  return {
    ...utf8,
    file,
    bytes: program => Buffer.from(launchdPlist(program)),
    install: [['launchctl', 'bootstrap', `gui/${uid}`, file]],
    uninstall: [['launchctl', 'bootout', name]],
    afterwards: [],
    isActive: ['launchctl', 'print', name],
  }
}

const BYTE_ORDER_MARK = '\uFEFF'

const scheduler = (machine: ClientMachine): ServiceManager => {
  const file = join(foldersOf(machine).local, 'mcp-proxy', 'mcp-proxy-task.xml')
  return {
    file,
    bytes: program => Buffer.from(`${BYTE_ORDER_MARK}${taskXml(program)}`, 'utf16le'),
    text: bytes => bytes.toString('utf16le'),
    install: [
      ['schtasks', '/Create', '/TN', 'mcp-proxy', '/XML', file],
      ['schtasks', '/Run', '/TN', 'mcp-proxy'],
    ],
    uninstall: [['schtasks', '/Delete', '/TN', 'mcp-proxy', '/F']],
    afterwards: [],
    isActive: ['schtasks', '/Query', '/TN', 'mcp-proxy'],
  }
}
