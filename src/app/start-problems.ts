import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { ProxyConfig } from '../config/types.js'
import { Fault, systemCode } from '../kernel/faults.js'
import { isNamedPipe } from '../kernel/machine/socket-path.js'
import { checkSocketPath } from '../transport/socket/path.js'

/** A reason why `serve` cannot start with a valid configuration. */
export interface StartProblem {
  /** Its place in the configuration. */
  readonly path: readonly string[]
  readonly message: string
  readonly fix: string
}

/** Checks the files and folders that `serve` needs to start. Creates nothing. */
export const startProblems = async ({
  audit,
  auth,
  cluster,
  listen,
}: ProxyConfig): Promise<readonly StartProblem[]> => {
  const { socket } = listen
  const tls = cluster?.peer.tls
  const looks: readonly Promise<StartProblem | undefined>[] = [
    ...(socket === undefined ? [] : [ofSocket(socket)]),
    ...(typeof audit?.to === 'object' ? [ofAudit(audit.to.file)] : []),
    ...(auth?.embedded?.clients ?? []).map(({ id, jwks }) => ofKeys(id, jwks)),
    ...(tls === undefined ? [] : [ofTls(tls)]),
  ]
  return (await Promise.all(looks)).filter(found => found !== undefined)
}

const ofSocket = (socket: string) =>
  problemAt(['listen', 'socket'], 'Choose a path in a folder that exists.', async () => {
    checkSocketPath(socket)
    if (!isNamedPipe(socket)) await access(dirname(socket), constants.W_OK)
  })

const ofAudit = (file: string) =>
  problemAt(['audit'], 'Create its folder, or choose a file that this user can write.', async () => {
    const found = await stat(file).catch((thrown: unknown) => {
      if (systemCode(thrown) === 'ENOENT') return undefined
      throw thrown
    })
    if (found?.isDirectory() === true) throw new Fault('unavailable', `${file} is a folder`)
    await access(found === undefined ? dirname(file) : file, constants.W_OK)
  })

const ofKeys = async (id: string, file: string | undefined) => {
  if (file === undefined) return undefined
  const { readClientKeys } = await import('../auth/authorization-server/client-rules.js')
  const fix = 'Write the path of a JSON file such as { "keys": [...] } with the public keys of the program.'
  return await problemAt(['auth', 'embedded', 'clients', id, 'jwks'], fix, () => readClientKeys(id, file))
}

const ofTls = async (files: NonNullable<NonNullable<ProxyConfig['cluster']>['peer']['tls']>) => {
  const { readTls } = await import('./cluster/join.js')
  return await problemAt(
    ['cluster', 'peer', 'tls'],
    'Write the paths of files that this user can read.',
    () => readTls(files),
  )
}

const problemAt = async (
  path: readonly string[],
  fix: string,
  look: () => Promise<unknown>,
): Promise<StartProblem | undefined> => {
  try {
    await look()
    return undefined
  } catch (thrown) {
    const { code, path: place } = thrown as NodeJS.ErrnoException
    const message =
      thrown instanceof Fault ? thrown.message : `cannot write to ${place ?? ''} (${code ?? ''})`
    return { path, message, fix }
  }
}
