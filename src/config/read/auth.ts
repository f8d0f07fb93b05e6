import { resolve } from 'node:path'
import { BASE_PATH, basePathOf, baseUrlOf } from '../../kernel/base-url.js'
import { isLoopbackHost } from '../../kernel/loopback.js'
import { tokenHash } from '../../kernel/secrets/personal-token.js'
import type { ProblemText } from '../file/problem.js'
import { syntaxValueOf } from '../file/syntax.js'
import { bareRecord, itemAt, members, type TreeItem } from '../file/tree.js'
import { KEYS } from '../schema/keys.generated.js'
import { isRemark } from '../schema/keys.js'
import { suggest } from '../schema/suggest.js'
import { type AuthValues, validateAuth } from '../schema/validate.js'
import type {
  AuthConfig,
  EmbeddedServer,
  MachineClient,
  Person,
  PersonalToken,
  TokenIssuer,
} from '../types.js'
import { type ReadContext, reportMisfits } from './entry.js'
import { endOf } from './expiry.js'
import { readPlain } from './plain.js'
import { expandedPath, expandedWhole } from './variables.js'

/**
 * Reads `auth`; undefined if it is absent. Any error makes all of it invalid, as does an unknown key that
 * resembles a key that restricts access.
 */
export const readAuth = (
  items: ReadonlyMap<string, TreeItem>,
  context: ReadContext,
): AuthConfig | undefined | 'invalid' => {
  const { report } = context
  const { errors } = report
  for (const [key, item] of items) if (!KEYS.root.includes(key)) refuseLookalike(key, item, context)
  const item = items.get('auth')
  const values = item && checked(item, context)
  const auth = item && values && new AuthReader(item, context).read(values)
  return report.errors > errors ? 'invalid' : auth
}

/** Keys that restrict access: the file must not be used without them. */
const GUARDS: readonly string[] = ['auth', 'rules', 'lock']

const refuseLookalike = (key: string, item: TreeItem, { report }: ReadContext): void => {
  const meant = isRemark(key) ? undefined : suggest(key, KEYS.root)
  if (meant === undefined || !GUARDS.includes(meant)) return
  report.nameError(item, {
    message: `this key is unknown, and looks like "${meant}"`,
    fix: 'Correct it, or remove it.',
  })
}

const checked = (item: TreeItem, { report }: ReadContext): AuthValues | undefined => {
  const result = validateAuth(syntaxValueOf(item))
  if (result.is === 'fine') return result.value
  const misfits = result.misfits.map(misfit => ({ ...misfit, path: ['auth', ...misfit.path] }))
  reportMisfits(misfits, new Map([['auth', item]]), report)
  return undefined
}

type Path = readonly string[]

type Values<K extends keyof AuthValues> = NonNullable<AuthValues[K]>
type PersonValues = Values<'people'>[string]
type TokenValues = NonNullable<PersonValues['tokens']>[number]
type EmbeddedValues = Exclude<Values<'embedded'>, boolean>
type LoginValues = NonNullable<EmbeddedValues['login']>
type MachineValues = NonNullable<EmbeddedValues['clients']>[string]

/** Resolves validated values, and reports conflicts. */
class AuthReader {
  readonly #item: TreeItem
  readonly #context: ReadContext

  constructor(item: TreeItem, context: ReadContext) {
    this.#item = item
    this.#context = context
  }

  read(values: AuthValues): AuthConfig {
    const publicUrl = values.publicUrl === undefined ? undefined : this.#origin(['publicUrl'])
    const people = Object.entries(values.people ?? {}).map(([name, person]) => this.#person(name, person))
    this.#refuseShared(people)
    const auth: AuthConfig = {
      publicUrl: publicUrl && baseUrlOf(publicUrl),
      ...readPlain('auth', { items: members(this.#item), values, report: this.#context.report }),
      people,
      issuers: this.#issuers(values.issuers ?? []),
      embedded: this.#embedded(values.embedded),
      grants: values.grants ?? [],
      scopeImplies: bareRecord(Object.entries(values.scopeImplies ?? {})),
    }
    this.#checkTogether(auth, publicUrl)
    return auth
  }

  #checkTogether({ loopback, embedded, people, issuers }: AuthConfig, publicUrl: URL | undefined): void {
    const isLocal = publicUrl === undefined || isLoopbackHost(publicUrl.hostname)
    if (loopback === 'open' && !isLocal) {
      this.#error(['loopback'], {
        message: 'behind a reverse proxy on this machine, all requests come from loopback',
        fix: 'Write "token", or remove "publicUrl".',
      })
    }
    if (embedded !== undefined && publicUrl?.protocol === 'http:' && !isLocal) {
      this.#error(['publicUrl'], {
        message: 'the embedded authorization server needs https',
        fix: 'Put TLS in front of the proxy, and write the https address of publicUrl here.',
      })
    }
    if (embedded === undefined && issuers.length === 0 && people.every(({ tokens }) => tokens.length === 0)) {
      this.#context.report.warning(this.#item, {
        message: 'no token is configured, so every request is refused',
        fix: 'Add "people" (mcp-proxy auth token NAME prints a token), "issuers" or "embedded".',
      })
    }
  }

  #person(name: string, { tokens = [], subjects = [], scopes }: PersonValues): Person {
    const at = ['people', name]
    return {
      name,
      tokens: tokens.map((token, index) => this.#token(token, [...at, 'tokens', String(index)])),
      subjects: subjects.map(({ sub }, index) => ({
        issuer: this.#text([...at, 'subjects', String(index), 'issuer']),
        sub,
      })),
      scopes,
    }
  }

  #token({ name, hash, token, expires, for: only }: TokenValues, at: Path): PersonalToken {
    if ((hash === undefined) === (token === undefined)) {
      this.#error(at, {
        message: 'a token needs either "hash" or "token"',
        fix: 'Write one of the two.',
      })
    }
    const sha256 =
      token === undefined ? hash?.slice('sha256:'.length).toLowerCase() : this.#hashed([...at, 'token'])
    const expiresMs = expires === undefined ? Number.POSITIVE_INFINITY : endOf(expires)
    if (Number.isNaN(expiresMs)) {
      this.#error([...at, 'expires'], {
        message: 'this is neither a day nor a time',
        fix: 'Write a day, such as "2027-06-30", or a time, such as "2027-06-30T12:00:00Z".',
      })
    }
    return { name: name ?? `token ${Number(at.at(-1)) + 1}`, sha256: sha256 ?? '', expiresMs, for: only }
  }

  #hashed(at: Path): string {
    return tokenHash(this.#secret(at))
  }

  #refuseShared(people: readonly Person[]): void {
    const owners = new Map<string, string>()
    const claim = (key: string, name: string, at: Path, what: string): void => {
      const owner = owners.get(key)
      owners.set(key, name)
      if (owner === undefined) return
      this.#error(at, {
        message: `this ${what} already belongs to ${owner}`,
        fix: 'Remove one of the two.',
      })
    }
    for (const { name, tokens, subjects } of people) {
      for (const [index, { sha256 }] of tokens.entries())
        claim(sha256, name, ['people', name, 'tokens', String(index)], 'token')
      for (const [index, { issuer, sub }] of subjects.entries())
        claim(`${issuer} ${sub}`, name, ['people', name, 'subjects', String(index)], 'subject')
    }
  }

  #issuers(values: Values<'issuers'>): readonly TokenIssuer[] {
    const seen = new Set<string>()
    this.#warnOfOpenIntrospection(values)
    return values.map((value, index) => {
      const at = ['issuers', String(index)]
      const { audience, scopeClaim, groupsClaim, jwksUri, strictType = false, introspection } = value
      const allowHttp = value.allowHttp ?? false
      const issuer = this.#address([...at, 'issuer'], allowHttp)
      if (seen.has(issuer)) {
        this.#error([...at, 'issuer'], {
          message: 'this issuer is already in the list',
          fix: 'Remove one of the two.',
        })
      }
      seen.add(issuer)
      return {
        issuer,
        audience,
        scopeClaim,
        groupsClaim,
        jwksUri: jwksUri === undefined ? undefined : this.#address([...at, 'jwksUri'], allowHttp),
        strictType,
        introspection: introspection && {
          clientId: this.#text([...at, 'introspection', 'clientId']),
          clientSecret: this.#secret([...at, 'introspection', 'clientSecret']),
          ...(introspection.tokens !== undefined && { tokens: introspection.tokens }),
        },
        allowHttp,
      }
    })
  }

  /** An issuer that is asked about another issuer's token could use it here. */
  #warnOfOpenIntrospection(values: Values<'issuers'>): void {
    const open = [...values.entries()].filter(
      ([, { introspection }]) => introspection !== undefined && introspection.tokens === undefined,
    )
    if (open.length < 2) return
    for (const [index] of open) {
      const at = itemAt(this.#item, ['issuers', String(index), 'introspection'])
      this.#context.report.warning(at, {
        message: 'several issuers are asked about the same tokens, so each sees tokens of the others',
        fix: 'Set "tokens" to the prefix of the tokens of each issuer.',
      })
    }
  }

  #embedded(value: AuthValues['embedded'] = false): EmbeddedServer | undefined {
    if (value === false) return undefined
    const { clients = {}, login, ...rest }: EmbeddedValues = value === true ? {} : value
    return {
      ...readPlain('embedded', {
        items: members(this.#at(['embedded'])),
        values: rest,
        report: this.#context.report,
      }),
      clients: Object.entries(clients).map(([id, client]) => this.#machine(id, client)),
      login: login && this.#login(login),
    }
  }

  #login({ clientSecret, groupsClaim, allowHttp = false }: LoginValues): EmbeddedServer['login'] {
    const at = ['embedded', 'login']
    return {
      issuer: this.#address([...at, 'issuer'], allowHttp),
      clientId: this.#text([...at, 'clientId']),
      clientSecret: clientSecret === undefined ? undefined : this.#secret([...at, 'clientSecret']),
      groupsClaim,
      allowHttp,
    }
  }

  #machine(id: string, { hash, secret, jwks, scopes }: MachineValues): MachineClient {
    const at = ['embedded', 'clients', id]
    if ([hash, secret, jwks].filter(each => each !== undefined).length !== 1) {
      this.#error(at, {
        message: 'a client needs either "hash", "secret" or "jwks"',
        fix: 'Write one of them.',
      })
    }
    const file = jwks === undefined ? undefined : expandedPath(this.#at([...at, 'jwks']), this.#context)
    return {
      id,
      sha256:
        secret === undefined
          ? hash?.slice('sha256:'.length).toLowerCase()
          : tokenHash(this.#machineSecret([...at, 'secret'])),
      jwks: file === undefined ? undefined : resolve(this.#context.folder, file),
      scopes,
    }
  }

  #machineSecret(at: Path): string {
    const { report } = this.#context
    const { errors } = report
    const secret = this.#secret(at)
    if (report.errors === errors && secret.length < LEAST_SECRET)
      report.warning(this.#at(at), {
        message: `this secret has fewer than ${LEAST_SECRET} characters and may be guessed`,
        fix: 'Use a random one, such as the output of: openssl rand -base64 32',
      })
    return secret
  }

  /** Reads the address of another server unchanged: clients and tokens compare it as text. */
  #address(at: Path, allowHttp: boolean): string {
    const text = this.#text(at)
    const url = URL.canParse(text) ? new URL(text) : undefined
    if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.hash !== '') {
      this.#error(at, {
        message: 'this is not an address',
        fix: 'Write a whole address, such as "https://login.example.com".',
      })
    } else if (url.protocol === 'http:' && !allowHttp && !isLoopbackHost(url.hostname)) {
      this.#error(at, {
        message: 'this address does not use TLS',
        fix: 'Write its https address, or add "allowHttp": true.',
      })
    }
    return text
  }

  /** Reads scheme, host and port. */
  #origin(at: Path): URL | undefined {
    const text = this.#text(at)
    const url = URL.canParse(text) ? new URL(text) : undefined
    const isWeb = url !== undefined && /^https?:$/.test(url.protocol)
    const path = isWeb ? basePathOf(url) : undefined
    // `URL` resolves dots and removes empty user names, so compare with the text.
    const isWhole = isWeb && [url.href, url.href.replace(/\/$/, '')].includes(`${url.origin}${url.pathname}`)
    if (
      isWeb &&
      isWhole &&
      (path === '' || BASE_PATH.test(path ?? '')) &&
      !/\/(?:\.|%2e){1,2}(?:\/|$)/i.test(text)
    )
      return url
    this.#error(at, {
      message: 'this must be only scheme, host and port',
      fix: 'Write for example "https://mcp.example.com", or "https://example.com/tools" to be served below a path.',
    })
    return undefined
  }

  #secret(at: Path): string {
    const item = this.#at(at)
    if (!/\$\{/.test(String(item.node.value))) {
      this.#context.report.warning(item, {
        message: 'this secret is in plain text',
        fix: 'Use a variable, such as "${NAME}"; for a token, write its "hash".',
      })
    }
    return this.#text(at)
  }

  #text(at: Path): string {
    const item = this.#at(at)
    return expandedWhole(String(item.node.value), item, this.#context)
  }

  #at(path: Path): TreeItem {
    return itemAt(this.#item, path)
  }

  #error(at: Path, words: ProblemText): void {
    this.#context.report.error(this.#at(at), words)
  }
}

/** Minimum characters of a client secret, against guessing over the network. */
const LEAST_SECRET = 24
