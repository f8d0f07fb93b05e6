import { Fault } from '../../kernel/faults.js'
import { isNamedPipe, PIPE_FOLDER } from '../../kernel/socket-path.js'

export { isNamedPipe, socketPathOf } from '../../kernel/socket-path.js'

/** `sun_path` of macOS holds 103 bytes and a NUL (`man 4 unix`), the one of Linux 107; a bit is left for others. */
const MAX_PATH_BYTES = 100

/** Throws the Fault `unavailable` for a path that no socket of this machine can have. */
export function checkSocketPath(path: string, platform: NodeJS.Platform = process.platform): void {
  const isPipe = isNamedPipe(path)
  if (platform === 'win32') {
    if (isPipe) return
    throw new Fault(
      'unavailable',
      `on Windows a local socket is a named pipe: ${PIPE_FOLDER}NAME or pipe:///NAME`,
    )
  }
  if (isPipe) throw new Fault('unavailable', 'named pipes exist on Windows only: use unix:///PATH')
  if (path === '' || path.includes('\0')) throw new Fault('unavailable', 'a socket needs a path')
  const bytes = Buffer.byteLength(path)
  if (bytes > MAX_PATH_BYTES) {
    const words = `the path of the socket is too long: ${bytes} bytes, and ${MAX_PATH_BYTES} are possible`
    throw new Fault('unavailable', words)
  }
}
