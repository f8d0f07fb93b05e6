import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Maximum run time of the program that prints the id. */
const LIMIT_MS = 5000

/** On Linux and BSD, the id of the installation, or of the boot if an image has none. */
const FILES = [
  '/etc/machine-id',
  '/var/lib/dbus/machine-id',
  '/etc/hostid',
  '/proc/sys/kernel/random/boot_id',
] as const

const ID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i

interface Source {
  readonly platform: NodeJS.Platform
  /** Throws if the file does not exist. */
  readonly read: (file: string) => string
  /** Returns the output of a program. Throws if it fails. */
  readonly run: (program: string, args: readonly string[]) => string
}

let known: string | undefined

/**
 * Returns an id of this machine, or the platform's name if there is none. Does not use the host name, which
 * changes with the network on macOS.
 */
export const machineId = (): string => (known ??= findMachineId(SYSTEM))

/** @internal */
export const findMachineId = (source: Source): string => attempt(() => idOn(source)) ?? source.platform

const idOn = ({ platform, read, run }: Source): string | undefined => {
  if (platform === 'darwin') {
    const output = run('/usr/sbin/ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice'])
    return /"IOPlatformUUID" = "([^"]+)"/.exec(output)?.[1]
  }
  if (platform === 'win32') {
    const program = join(process.env['SystemRoot'] ?? 'C:\\Windows', 'System32', 'reg.exe')
    const output = run(program, ['query', 'HKLM\\SOFTWARE\\Microsoft\\Cryptography', '/v', 'MachineGuid'])
    return /MachineGuid\s+REG_SZ\s+(\S+)/.exec(output)?.[1]
  }
  for (const file of FILES) {
    const id = attempt(() => read(file).trim())
    if (id !== undefined && ID.test(id)) return id
  }
  return undefined
}

const attempt = <T>(work: () => T): T | undefined => {
  try {
    return work()
  } catch {
    return undefined
  }
}

const SYSTEM: Source = {
  platform: process.platform,
  read: file => readFileSync(file, 'utf8'),
  run: (program, args) => {
    // Shims start often on Linux and do not need this module.
    const { execFileSync } = process.getBuiltinModule('node:child_process')
    return execFileSync(program, args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: LIMIT_MS,
      windowsHide: true,
    })
  },
}
