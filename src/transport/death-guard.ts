import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

/** Ends the children of a proxy that died without ending them itself (SIGKILL, out of memory, a crash). */
export interface DeathGuard {
  /** Process id of the helper while one runs. */
  readonly pid: number | undefined
  /** From now on the process group `pid` dies with us. */
  watch(pid: number): void
  /** The whole group is gone, and its number may soon belong to somebody else. */
  forget(pid: number): void
  /** Ends the helper, and with it every group that is still watched; `watch` does nothing from now on. */
  close(): void
}

/**
 * The helper: reads `+GROUP` and `-GROUP` lines and, when its input ends, signals the groups that remain. Plain
 * POSIX, so that dash, bash and the sh of macOS run it alike; `$1` and `$2` are the seconds before SIGTERM and
 * from there to SIGKILL. `$3` is a variable with its value: on Linux whatever has it in its environment ends too, for a server
 * may have started something in a session of its own.
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

const SECONDS_TO_TERM = '1'
const SECONDS_TO_KILL = '2'

/** A machine without /bin/sh, or one that kills the helper each time, is not asked for ever. */
const MAX_REVIVALS = 5

const nothing = (): void => undefined

const noGuard: DeathGuard = { pid: undefined, watch: nothing, forget: nothing, close: nothing }

interface Helper {
  readonly pid?: number | undefined
  readonly stdin: Writable
}

function startHelper(mark: string, onGone: () => void): Helper {
  const helper = spawn(
    '/bin/sh',
    ['-c', DEATH_GUARD_SCRIPT, 'death-guard', SECONDS_TO_TERM, SECONDS_TO_KILL, mark],
    {
      // Its own session: neither Ctrl-C nor the hang-up of the terminal reaches it.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
      cwd: '/',
      env: { PATH: '/usr/bin:/bin' },
    },
  )
  helper.once('error', onGone)
  helper.once('exit', onGone)
  helper.stdin.on('error', nothing)
  helper.unref()
  if (helper.stdin instanceof Socket) helper.stdin.unref()
  return helper
}

class ShellGuard implements DeathGuard {
  readonly #watched = new Set<number>()
  readonly #mark: string
  #helper: Helper | undefined
  #revivals = 0
  #closed = false

  constructor(mark: string) {
    this.#mark = mark
  }

  get pid(): number | undefined {
    return this.#helper?.pid
  }

  watch(pid: number): void {
    if (this.#closed || !Number.isSafeInteger(pid) || pid <= 1) return
    this.#watched.add(pid)
    if (this.#helper === undefined) this.#start()
    else this.#helper.stdin.write(`+${pid}\n`)
  }

  forget(pid: number): void {
    if (this.#watched.delete(pid)) this.#helper?.stdin.write(`-${pid}\n`)
  }

  close(): void {
    this.#closed = true
    this.#helper?.stdin.end()
  }

  #start(): void {
    const helper = startHelper(this.#mark, () => {
      if (this.#helper === helper) this.#revive()
    })
    this.#helper = helper
    for (const pid of this.#watched) helper.stdin.write(`+${pid}\n`)
  }

  #revive(): void {
    this.#helper = undefined
    if (this.#closed || this.#watched.size === 0 || this.#revivals >= MAX_REVIVALS) return
    this.#revivals += 1
    this.#start()
  }
}

/**
 * One helper process for all children of this proxy, started with the first of them; it keeps nothing of ours
 * alive and is replaced when it dies. `mark` is a variable, with its value, that stands in the environment of all of them. Does
 * nothing on Windows, where a closed console ends its processes.
 */
export const createDeathGuard = (mark = ''): DeathGuard =>
  process.platform === 'win32' ? noGuard : new ShellGuard(mark)
