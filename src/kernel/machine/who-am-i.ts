import { homedir, type UserInfo, userInfo } from 'node:os'
import { isAbsolute, resolve } from 'node:path'
import process from 'node:process'

/** The user of this process. */
export interface User {
  /** Absolute; the root folder if neither the user database nor the environment names a home folder. */
  readonly home: string
  /** The uid as text if the user database does not know it. */
  readonly name: string
  /** -1 on Windows. */
  readonly uid: number
  /** The login shell; undefined on Windows and if the user database does not know it. */
  readonly shell: string | undefined
}

type Variables = Readonly<Record<string, string | undefined>>

/**
 * Returns the user from the user database. In containers with an unknown user id (`docker run -u 1234`), uses
 * the environment instead. Never throws, unlike `userInfo()` and `homedir()`.
 */
export const whoAmI = (env: Variables = process.env, find = foundInDatabase): User => {
  const { homedir: home, username, uid = process.getuid?.() ?? -1, shell } = find() ?? {}
  const named = env[process.platform === 'win32' ? 'USERPROFILE' : 'HOME']
  return {
    home: [home, named].find(isUsable) ?? ROOT,
    name: username ?? String(uid),
    uid,
    shell: shell === null || shell === '' ? undefined : shell,
  }
}

/** Returns the home folder: `HOME` if it is absolute, otherwise that of `whoAmI`. */
export const homeFolder = (): string => {
  try {
    const home = homedir()
    if (isUsable(home)) return home
  } catch {
    // HOME is not set, and the user database does not contain this uid.
  }
  return whoAmI().home
}

const ROOT = resolve('/')

const isUsable = (folder: string | undefined): folder is string => folder !== undefined && isAbsolute(folder)

const foundInDatabase = (): UserInfo<string> | undefined => {
  try {
    return userInfo()
  } catch {
    return undefined
  }
}
