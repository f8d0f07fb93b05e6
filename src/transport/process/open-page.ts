import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

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

/** A page that a browser was started for. */
export interface OpenedPage {
  /** Removes the file that sends the browser to the page, which is removed after a minute otherwise. */
  close(): Promise<void>
}

/**
 * Opens an http address in a browser, without a shell. Other users can read the arguments of the browser, and
 * the address may hold a secret: the browser gets the path of a file that redirects to it. Only our user can
 * read the file. Undefined if it cannot be written, or the browser not started.
 */
export const openPage = async (
  [program, ...args]: readonly [program: string, ...args: string[]],
  url: URL,
): Promise<OpenedPage | undefined> => {
  const file = await writeRedirect(url).catch(() => undefined)
  if (file === undefined) return undefined
  const folder = dirname(file)
  const remove = () => rm(folder, { recursive: true, force: true })
  const browser = await start(program, [...args, file], {})
  if (browser === undefined) {
    await remove()
    return undefined
  }
  // The command may end before the browser has read the file. Windows cannot remove a working directory.
  const options = { windowsHide: true, cwd: dirname(folder) }
  const remover = await start(process.execPath, ['-e', REMOVE_LATER, folder], options)
  return {
    close() {
      remover?.kill()
      return remove()
    },
  }
}

const REMOVE_LATER = 'setTimeout(() => fs.rmSync(process.argv[1], { recursive: true }), 60_000)'

/** Writes the file into a new folder of mode 0700. */
const writeRedirect = async ({ href }: URL): Promise<string> => {
  const file = join(await mkdtemp(join(tmpdir(), 'mcp-proxy-page-')), 'open.html')
  // Neither `"` nor `<` is in an http address (URL Standard, "percent-encode sets"), but `\` may be.
  const script = `<script>location.replace(${JSON.stringify(href)})</script>`
  const refresh = `<meta http-equiv="refresh" content="0;url=${href.replaceAll('&', '&amp;')}">`
  const page = `<!doctype html><title>mcp-proxy</title>${script}<noscript>${refresh}</noscript>\n`
  await writeFile(file, page, { mode: 0o600 })
  return file
}

/** Starts a program that outlives us; undefined if it cannot be started. */
const start = (
  program: string,
  args: readonly string[],
  options: SpawnOptions,
): Promise<ChildProcess | undefined> =>
  new Promise(resolve => {
    const child = spawn(program, args, { ...options, stdio: 'ignore', detached: true })
    child.once('error', () => resolve(undefined))
    child.once('spawn', () => {
      child.unref()
      resolve(child)
    })
  })
