import { type FSWatcher, mkdirSync, watch } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Broadcasts } from '../../cluster/broadcasts.js'
import type { ProxyConfig, ServerConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import { LOCAL } from '../../kernel/caller.js'
import { Fault } from '../../kernel/faults.js'
import { lateModule } from '../../kernel/late-module.js'
import type { Logger } from '../../kernel/logger.js'
import { addSecrets, sanitizeLine } from '../../kernel/secrets/mask.js'
import { NEWEST_LEGACY } from '../../model/revision.js'
import type { ServerOptions } from '../../peers/dial.js'
import type { RemoteNetwork } from '../../transport/http/routes.js'
import { Credential } from '../client/credential.js'
import type { CredentialRecord } from '../client/record.js'
import type { OAuthSettings, TokenSourceContext } from '../client/settings.js'
import { type CredentialFiles, credentialFolder, isFileOf, openCredentials } from './files.js'
import type { SharedLogins } from './shared-logins.js'

const tokenSource = lateModule(() => import('../client/token-source.js'))
const sharedLogins = lateModule(() => import('./shared-logins.js'))
const guardedFetch = lateModule(() => import('../../transport/http/guarded-fetch.js'))

const PROBLEM_BYTES = 300

/** Owner of a login that all clients use. */
export const SHARED = 'shared'

/** Returns the normalized URL of a login, without its query, which may be secret. */
export const loginUrl = (url: string): string => {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol.replace(/^ws/, 'http')}//${host}${pathname}`
}

/** Dependencies of a login, with its store. */
export interface LoginContext extends TokenSourceContext {
  readonly store: CredentialFiles
}

/** Creates the dependencies for requests to a server's authorization server. */
export const loginContext = async (
  login: {
    readonly server: string
    readonly command: string | undefined
    readonly url: string
    readonly settings: OAuthSettings
    /** Defaults to `shared`. */
    readonly owner?: string | undefined
    /** The way to the server. */
    readonly network?: RemoteNetwork | undefined
  },
  store: CredentialFiles,
): Promise<LoginContext> => {
  const { url, settings, network: { proxy, tls } = {} } = login
  const { createGuardedFetch } = await guardedFetch()
  const { issuer, endpoints, idp } = settings
  const named = [url, issuer, idp?.issuer, ...Object.values<string | undefined>({ ...endpoints })]
  return {
    ...login,
    owner: login.owner ?? SHARED,
    url: loginUrl(url),
    store,
    nowMs: Date.now,
    revision: NEWEST_LEGACY,
    fetch: createGuardedFetch({
      trusted: named.filter(each => each !== undefined).map(loginUrl),
      allowPrivate: settings.allowPrivate === true,
      proxy: () => proxy,
      tls: tls && { settings: tls, url: loginUrl(url) },
    }),
    readFile: path => readSecret(path),
  }
}

const readSecret = async (path: string): Promise<string> => {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    throw new Fault('unauthorized', `${path}, which the configuration names, cannot be read`, {
      cause: thrown,
    })
  }
}

export interface LoginsOptions {
  readonly stateDir: string
  readonly store: ProxyConfig['credentialStore']
  readonly clock: Clock
  readonly log: Logger
  /** Called after a login at a blocked server. */
  readonly onLogin: (server: ServerOptions) => void
  /** Returns the URL of the client ID metadata document for an issuer, if there is one. */
  readonly clientDocument: (issuer: string) => string | undefined
  /** True if users know the only server by its address, as in `mcp-proxy bridge`. */
  readonly isAlone: boolean
}

interface NewLogin {
  readonly server: string
  readonly url: string
  readonly settings: OAuthSettings
  /** True if the configuration has details of the login. */
  readonly isConfigured: boolean
  readonly owner: string
  readonly network: RemoteNetwork
}

/** The credentials of all servers that may need a login; watches the store for new logins. */
export class Logins {
  readonly #options: LoginsOptions
  readonly #credentials = new Map<ServerOptions, Credential>()
  /** Functions that end the masking of a credential's secrets. */
  readonly #unmasks = new Map<Credential, () => void>()
  #store: Promise<CredentialFiles> | undefined
  #shared: SharedLogins | undefined
  #watcher: FSWatcher | undefined

  constructor(options: LoginsOptions) {
    this.#options = options
  }

  /** Returns the credential of a server; undefined without OAuth. Rejects with a Fault. */
  async of(server: ServerOptions, { name, oauth, transport }: ServerConfig): Promise<Credential | undefined> {
    if (oauth === undefined || !('url' in transport)) return undefined
    const store = await this.store()
    let credential = this.#credentials.get(server)
    if (credential === undefined) {
      const owner = server.owned?.owner ?? SHARED
      credential = this.#create(
        {
          server: name,
          url: transport.url,
          settings: this.#settings(oauth, owner),
          isConfigured: Object.keys(oauth).length > 0,
          owner,
          network: transport,
        },
        store,
      )
      this.#credentials.set(server, credential)
    }
    return credential
  }

  /** Opens the store. Rejects with a Fault if its key cannot be used. */
  store(): Promise<CredentialFiles> {
    const { stateDir, store: kind, log } = this.#options
    this.#store ??= openCredentials(stateDir, { kind, log })
    return this.#store
  }

  /** Shares the logins with all replicas. */
  async share(broadcasts: Broadcasts): Promise<void> {
    const [{ SharedLogins }, own] = await Promise.all([sharedLogins(), this.store()])
    this.#shared = new SharedLogins({ broadcasts, own, log: this.#options.log })
    own.share(this.#shared)
  }

  /** Returns the reason why a server cannot be asked, if known. */
  troubleOf(server: ServerOptions): Fault | undefined {
    return this.#credentials.get(server)?.trouble
  }

  /** Returns the last answer of the authorization server that keeps a server away, masked; for operators. */
  problemOf(server: ServerOptions): string | undefined {
    const credential = this.#credentials.get(server)
    const problem = credential?.trouble && credential.problem
    return problem && sanitizeLine(problem, PROBLEM_BYTES)
  }

  /** Reports whether the owner of a server has signed in, as far as known. */
  isSignedIn(server: ServerOptions): boolean {
    return this.#credentials.get(server)?.isSignedIn === true
  }

  /** Returns how many principals have their own login at a server. */
  signedInAt(server: ServerOptions): number {
    const own = [...this.#credentials].filter(([{ owned }]) => owned?.by === server)
    return own.filter(([, { isSignedIn }]) => isSignedIn).length
  }

  /** Drops servers that are not served any more. */
  retain(servers: readonly ServerOptions[]): void {
    const kept = new Set(servers)
    for (const server of this.#credentials.keys()) {
      if (!kept.has(server.owned?.by ?? server)) this.forget(server)
    }
  }

  forget(server: ServerOptions): void {
    const credential = this.#credentials.get(server)
    this.#credentials.delete(server)
    if (credential === undefined) return
    this.#unmasks.get(credential)?.()
    this.#unmasks.delete(credential)
  }

  /** Reads the stored login of a server at once. */
  readAgain(server: ServerOptions): void {
    if (this.#credentials.get(server)?.changed() === true) this.#options.onLogin(server)
  }

  close(): void {
    this.#watcher?.close()
    for (const server of [...this.#credentials.keys()]) this.forget(server)
  }

  /** Logins through the pages use the metadata document instead of a registration, if possible. */
  #settings(oauth: OAuthSettings, owner: string): OAuthSettings {
    return owner === SHARED ? oauth : { ...oauth, ownDocument: this.#options.clientDocument }
  }

  #create(login: NewLogin, store: CredentialFiles): Credential {
    const { clock, log, isAlone } = this.#options
    const { server, url, owner, isConfigured } = login
    const isOurs = owner === SHARED || owner === LOCAL.principal
    const command = isOurs ? `mcp-proxy auth login ${isAlone ? loginUrl(url) : server}` : undefined
    const credential: Credential = new Credential({
      ...{ server, command, url: loginUrl(url), owner, isConfigured, store, clock, log, nowMs: Date.now },
      source: async () => {
        const [{ TokenSource }, context] = await Promise.all([
          tokenSource(),
          loginContext({ ...login, command }, store),
        ])
        return new TokenSource(context)
      },
      onRecord: record => {
        this.#unmasks.get(credential)?.()
        this.#unmasks.set(credential, addSecrets(secretsIn(record)))
        this.#watch()
      },
      onBlocked: () => this.#watch(),
    })
    return credential
  }

  /**
   * Watches the store once it is needed. Files are replaced atomically and read at once, so that a login is
   * in use when `auth login` ends.
   */
  #watch(): void {
    const { stateDir, log } = this.#options
    const folder = credentialFolder(stateDir)
    if (this.#watcher !== undefined) return
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      this.#watcher = watch(folder, { persistent: false }, (_event, name) => this.#changed(name))
      this.#watcher.on('error', () => undefined)
    } catch (thrown) {
      log.warn({ folder, err: thrown }, 'logins are noticed only when servers are asked again')
    }
  }

  /** Reads a changed file, or all files if the system does not name it. */
  #changed(file: string | null): void {
    for (const [server, credential] of [...this.#credentials]) {
      const isMeant = file === null || isFileOf(file, credential.place)
      if (isMeant && credential.changed()) this.#options.onLogin(server)
      if (isMeant) this.#shared?.noticed(credential.place)
    }
  }
}

const secretsIn = ({ tokens, client }: CredentialRecord): readonly string[] =>
  [tokens?.access, tokens?.refresh, client?.secret].filter(secret => secret !== undefined)
