import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { packageFile } from '../../kernel/machine/package-file.js'
import { nothing } from '../../kernel/nothing.js'
import { systemRoot } from './process-tree.js'

/** Ends the children of a proxy that dies without ending them (SIGKILL, out of memory, a crash). */
export interface DeathGuard {
  readonly pid: number | undefined
  /** Makes the process group `pid` (on Windows the tree) end with this process. */
  watch(pid: number): void
  /** Call when the whole group is gone, because its id may be reused. */
  forget(pid: number): void
  /** Ends the helper, which ends all watched groups; later calls of `watch` have no effect. */
  close(): void
}

/**
 * The helper. Reads lines `+GROUP` and `-GROUP` and, when its input ends, signals the remaining groups.
 * Written for dash, bash and the sh of macOS. `$1` is the time in seconds before SIGTERM, `$2` the time from
 * there to SIGKILL. `$3` is a variable with its value: on Linux, the helper also ends every process with it
 * in its environment, since a server may have started processes in other sessions.
 * @internal
 */
export const DEATH_GUARD_SCRIPT = `
trap '' INT HUP TERM
groups=
while read -r line; do
  number=\${line#?}
  case $number in '' | *[!0-9]* | 0 | 1) continue ;; esac
  case $line in
    +*) groups="$groups $number" ;;
    -*)
      kept=
      for group in $groups; do [ "$group" = "$number" ] || kept="$kept $group"; done
      groups=$kept
      ;;
  esac
done
end() {
  for group in $groups; do kill -s "$1" -- "-$group" 2>/dev/null; done
  [ -n "$2" ] && [ -r /proc/self/environ ] || return 0
  for file in $(grep -lzxF -e "$2" /proc/[0-9]*/environ 2>/dev/null); do
    number=\${file#/proc/}
    kill -s "$1" "\${number%/environ}" 2>/dev/null
  done
}
[ -n "$groups$3" ] || exit 0
sleep "$1"
end TERM "$3"
sleep "$2"
end KILL "$3"
exit 0
`

const SECONDS_TO_TERM = 1
const SECONDS_TO_KILL = 2

export interface GuardProgram {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** Returns the line that watches the process `pid`, started at `sinceMs` of the wall clock. */
  watchLine(pid: number, sinceMs: number): string
}

const shellGuard = (mark: string): GuardProgram => ({
  file: '/bin/sh',
  args: ['-c', DEATH_GUARD_SCRIPT, 'death-guard', String(SECONDS_TO_TERM), String(SECONDS_TO_KILL), mark],
  cwd: '/',
  env: { PATH: '/usr/bin:/bin' },
  watchLine: pid => `+${pid}\n`,
})

const windowsGuard = (): GuardProgram => ({
  file: process.execPath,
  args: [
    fileURLToPath(packageFile('dist/windows-guard.js')),
    String(SECONDS_TO_TERM * 1000),
    String(SECONDS_TO_KILL * 1000),
  ],
  // Windows cannot remove the working directory of a process.
  cwd: systemRoot(),
  env: { SystemRoot: systemRoot() },
  watchLine: (pid, sinceMs) => `+${pid} ${sinceMs}\n`,
})

/** Returns the script above, or `windows-guard.ts` where a shell cannot signal groups. @internal */
export const guardProgram = (mark: string, platform: NodeJS.Platform = process.platform): GuardProgram =>
  platform === 'win32' ? windowsGuard() : shellGuard(mark)

/** Limits restarts if the program is missing or killed each time. */
const MAX_RESTARTS = 5

function startHelper({ file, args, cwd, env }: GuardProgram, onGone: () => void) {
  const helper = spawn(file, args, {
    // A separate session protects it from Ctrl-C and terminal hang-ups. On Windows it has no console and is
    // outside the job that ends with this process (libuv, `uv_spawn`).
    detached: true,
    windowsHide: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    cwd,
    env,
  })
  helper.once('error', onGone)
  helper.once('exit', onGone)
  helper.stdin.on('error', nothing)
  helper.unref()
  if (helper.stdin instanceof Socket) helper.stdin.unref()
  return helper
}

/**
 * Creates a guard with one helper process for all children, started with the first child and replaced when it
 * dies. It does not keep this process alive. `mark` is an environment variable (with value) of all children.
 */
export const createDeathGuard = (mark = '', program: GuardProgram = guardProgram(mark)): DeathGuard => {
  /** Start time of each process, by the wall clock. */
  const watched = new Map<number, number>()
  let helper: ReturnType<typeof startHelper> | undefined
  let restarts = 0
  let isClosed = false
  const start = (): void => {
    const started = startHelper(program, () => {
      if (helper === started) restart()
    })
    helper = started
    for (const [pid, sinceMs] of watched) started.stdin.write(program.watchLine(pid, sinceMs))
  }
  const restart = (): void => {
    helper = undefined
    if (isClosed || watched.size === 0 || restarts >= MAX_RESTARTS) return
    restarts += 1
    start()
  }
  return {
    get pid() {
      return helper?.pid
    },
    watch(pid) {
      if (isClosed || !Number.isSafeInteger(pid) || pid <= 1) return
      const sinceMs = Date.now()
      watched.set(pid, sinceMs)
      if (helper === undefined) start()
      else helper.stdin.write(program.watchLine(pid, sinceMs))
    },
    forget(pid) {
      if (watched.delete(pid)) helper?.stdin.write(`-${pid}\n`)
    },
    close() {
      isClosed = true
      helper?.stdin.end()
    },
  }
}
