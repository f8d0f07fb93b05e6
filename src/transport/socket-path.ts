import { Fault } from '../kernel/faults.js'

const PIPES = '\\\\.\\pipe\\'

/** `sun_path` of macOS holds 103 bytes and a NUL (`man 4 unix`), the one of Linux 107; a bit is left for others. */
const MAX_PATH_BYTES = 100

const UNIX_URL = /^unix:(?:\/\/)?(\/(?!\/)[^?#]*)$/i
const PIPE_URL = /^pipe:\/\/\/([^/\\?#]+)$/i

function decoded(text: string): string | undefined {
  try {
    const path = decodeURIComponent(text)
    return path.includes('\0') ? undefined : path
  } catch {
    return undefined
  }
}

/**
 * The path behind `unix:///run/x.sock` or `unix:/run/x.sock`, or the Windows pipe behind `pipe:///name`;
 * undefined for anything else.
 */
export function socketPathOf(url: string): string | undefined {
  const path = UNIX_URL.exec(url)?.[1]
  if (path !== undefined) return decoded(path)
  const name = decoded(PIPE_URL.exec(url)?.[1] ?? '')
  return name === undefined || name === '' || /[/\\]/.test(name) ? undefined : `${PIPES}${name}`
}

/** Whether a path is a named pipe of Windows, which lives in no directory. */
export const isNamedPipe = (path: string): boolean => path.toLowerCase().startsWith(PIPES)

/** Throws the Fault `unavailable` for a path that no socket of this machine can have. */
export function checkSocketPath(path: string, platform: NodeJS.Platform = process.platform): void {
  const isPipe = isNamedPipe(path)
  if (platform === 'win32') {
    if (isPipe) return
    throw new Fault('unavailable', `on Windows a local socket is a named pipe: ${PIPES}NAME or pipe:///NAME`)
  }
  if (isPipe) throw new Fault('unavailable', 'named pipes exist on Windows only: use unix:///PATH')
  if (path === '' || path.includes('\0')) throw new Fault('unavailable', 'a socket needs a path')
  const bytes = Buffer.byteLength(path)
  if (bytes > MAX_PATH_BYTES) {
    const words = `the path of the socket is too long: ${bytes} bytes, and ${MAX_PATH_BYTES} are possible`
    throw new Fault('unavailable', words)
  }
}
