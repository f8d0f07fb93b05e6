import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** Program and leading arguments that open a page, by platform. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Returns `BROWSER`, or the platform's opener if there is a desktop session; undefined otherwise. */
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

/** A page opened in a browser. */
export interface OpenedPage {
  /** Removes the redirect file, which is otherwise removed after a minute. */
  close(): Promise<void>
}

/**
 * Opens an http address in a browser, without a shell. Other users can read the browser's arguments and the
 * address may hold a secret, so the browser gets the path of a file that redirects to it and that only this
 * user can read. Resolves with undefined if the file or the browser fails.
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
  // The command may end before the browser reads the file. Windows cannot remove a working directory.
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

/** Writes the file into a new folder with mode 0700. */
const writeRedirect = async ({ href }: URL): Promise<string> => {
  const file = join(await mkdtemp(join(tmpdir(), 'mcp-proxy-page-')), 'open.html')
  // An http address contains neither `"` nor `<` (URL Standard, "percent-encode sets"), but may contain `\`.
  const script = `<script>location.replace(${JSON.stringify(href)})</script>`
  const refresh = `<meta http-equiv="refresh" content="0;url=${href.replaceAll('&', '&amp;')}">`
  const page = `<!doctype html><title>mcp-proxy</title>${script}<noscript>${refresh}</noscript>\n`
  await writeFile(file, page, { mode: 0o600 })
  return file
}

/** Starts a detached program; undefined if it cannot be started. */
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
