/** Prefix of named pipes on Windows. */
export const PIPE_FOLDER = '\\\\.\\pipe\\'

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

/** Returns the path in `unix:///run/x.sock` or `unix:/run/x.sock`, or the pipe in `pipe:///name`. */
export function socketPathOf(url: string): string | undefined {
  const path = UNIX_URL.exec(url)?.[1]
  if (path !== undefined) return decoded(path)
  const name = decoded(PIPE_URL.exec(url)?.[1] ?? '')
  return name === undefined || name === '' || /[/\\]/.test(name) ? undefined : `${PIPE_FOLDER}${name}`
}

export const isNamedPipe = (path: string): boolean => path.toLowerCase().startsWith(PIPE_FOLDER)

/** Returns the URL of an absolute path; the inverse of `socketPathOf`. */
export const socketUrlOf = (path: string): string => {
  const [scheme, rest] = isNamedPipe(path) ? ['pipe:///', path.slice(PIPE_FOLDER.length)] : ['unix://', path]
  return scheme + encodeURI(rest).replace(/[?#]/g, encodeURIComponent)
}
