import { hostname } from 'node:os'
import t from 'tap'
import { findMachineId, machineId } from '../../src/shim/machine-id.js'

const ID = 'f4b2f1d09a7e4c0f9a3c5d6e7f801234'
const BOOT = 'b1f6a0de-58a1-4a9f-9d3f-0a1b2c3d4e5f'

const found = (platform: NodeJS.Platform, files: Record<string, string>, output?: string): string =>
  findMachineId({
    platform,
    read: file => {
      const text = files[file]
      if (text === undefined) throw new Error('ENOENT')
      return text
    },
    run: () => {
      if (output === undefined) throw new Error('ENOENT')
      return output
    },
  })

t.test('a machine is known by its id, on each system', async t => {
  t.equal(found('linux', { '/etc/machine-id': `${ID}\n` }), ID)
  t.equal(found('linux', { '/var/lib/dbus/machine-id': `${ID}\n` }), ID)
  t.equal(found('darwin', {}, `    "IOPlatformUUID" = "${BOOT}"\n`), BOOT)
  t.equal(found('win32', {}, `\r\n    MachineGuid    REG_SZ    ${BOOT}\r\n\r\n`), BOOT)
})

t.test('an image without an id is known by the boot of its kernel', async t => {
  const boot = { '/proc/sys/kernel/random/boot_id': `${BOOT}\n` }
  for (const empty of ['', 'uninitialized\n'])
    t.equal(found('linux', { '/etc/machine-id': empty, ...boot }), BOOT)
  t.equal(found('linux', boot), BOOT)
})

t.test('a machine without any id is not known by its host name', async t => {
  for (const platform of ['linux', 'darwin', 'win32'] as const) t.equal(found(platform, {}), platform)
  t.not(machineId(), hostname())
})
