import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Returns a reason to skip a test, if this program of Debian is not installed. */
export const without = (program: string): string | false => {
  try {
    execFileSync('/bin/sh', ['-c', `PATH=$PATH:/usr/sbin command -v ${program}`])
    return false
  } catch {
    return `${program} is not installed`
  }
}

/** Starts a program with a configuration file, its last argument, until the test ends. */
export const start = async (
  t: Test,
  program: string,
  args: readonly string[],
  config: (folder: string) => string,
) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-proxy-front-'))
  // Squid reads it as another user.
  chmodSync(folder, 0o755)
  const file = join(folder, 'front.conf')
  writeFileSync(file, config(folder))
  const env = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` }
  const child: ChildProcess = spawn(program, [...args, file], { env, stdio: 'ignore' })
  t.teardown(async () => {
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  })
}
