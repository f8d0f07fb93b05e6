import { spawn } from 'node:child_process'

/** The program that shows pages on each system, and what stands before the address. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/**
 * The program that opens a page: `BROWSER`, or the opener of the system if a person sits before it; undefined
 * if there is none.
 */
export const browserOf = (
  env: NodeJS.ProcessEnv,
  isTerminal: boolean,
  platform: NodeJS.Platform = process.platform,
): readonly [program: string, ...args: string[]] | undefined => {
  const { BROWSER: named, DISPLAY: x11, WAYLAND_DISPLAY: wayland } = env
  if (named !== undefined && named !== '') return [named]
  if (!isTerminal) return undefined
  return OPENERS[platform] ?? ((x11 ?? wayland) ? ['xdg-open'] : undefined)
}

/**
 * Opens a page, without a shell: the address is the last argument, whatever stands in it. Resolves to whether
 * the program could be started.
 */
export const openPage = (
  [program, ...args]: readonly [program: string, ...args: string[]],
  url: URL,
): Promise<boolean> =>
  new Promise(resolve => {
    const child = spawn(program, [...args, url.href], { stdio: 'ignore', detached: true, shell: false })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
