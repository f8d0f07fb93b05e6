import { Fault } from '../../kernel/faults.js'
import { isNamedPipe, PIPE_FOLDER } from '../../kernel/machine/socket-path.js'

/** `sun_path` holds 103 bytes and a NUL on macOS (`man 4 unix`), 107 on Linux, perhaps less elsewhere. */
const MAX_PATH_BYTES = 100

/** Throws the Fault `unavailable` for an invalid socket path. */
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
    throw new Fault(
      'unavailable',
      `the socket path is too long: ${bytes} bytes, where at most ${MAX_PATH_BYTES} are possible`,
    )
  }
}
