import { Fault } from '../kernel/faults.js'

const FAILURES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such socket (ENOENT): is the server running?',
  ECONNREFUSED: 'nothing is listening on it (ECONNREFUSED): is the server running?',
  EACCES: 'it is not open to this user (EACCES)',
  EPERM: 'it is not open to this user (EPERM)',
  ENOTSOCK: 'the file is not a socket (ENOTSOCK)',
  ENOTDIR: 'there is no such directory (ENOTDIR)',
  EPROTOTYPE: 'it is a different kind of socket (EPROTOTYPE)',
  EAGAIN: 'the server does not accept connections fast enough (EAGAIN)',
  EMFILE: 'the proxy has too many open files (EMFILE)',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
}

/** Returns why a local socket refused a connection, by the code of the error; undefined for other codes. */
export const socketFailure = (code: string): string | undefined => FAILURES[code]

/** Creates the Fault of a local socket. Remote clients may read the message, so it omits the path. */
export const socketFault = (reason: string, error?: unknown): Fault =>
  new Fault('unavailable', `cannot connect to the socket: ${reason}`, { cause: error })
