import { readFile } from 'node:fs/promises'
import type * as Oidc from 'oidc-provider'
import type {
  AllClientMetadata,
  ClientMetadata,
  Configuration,
  KoaContextWithOIDC,
  Provider,
} from 'oidc-provider'
import type { EmbeddedServer, MachineClient } from '../../config/types.js'
import { Fault } from '../../kernel/faults.js'
import { randomId } from '../../kernel/ids.js'
import { isObject } from '../../kernel/object.js'
import { issuedToken, tokenHash } from '../../kernel/secrets/personal-token.js'
import { adjustMetadata, ClientRefused } from './client-metadata.js'
import { AUTH_METHODS } from './metadata.js'
import { isSameText } from './store.js'

/** The module `oidc-provider`, which is loaded late. */
export type OidcProvider = typeof Oidc

const GRANT_TYPES = ['authorization_code', 'refresh_token']

/** Creates the clients and their authentication rules. Rejects with a Fault for unreadable keys. */
export const clientRules = async (oidc: OidcProvider, embedded: EmbeddedServer): Promise<Configuration> => {
  const { clients, privateRedirects } = embedded
  const configured = new Set(clients.map(({ id }) => id))
  const rules = { privateRedirects, grantTypes: GRANT_TYPES, configured }
  return {
    clients: await Promise.all(clients.map(machineMetadata)),
    clientDefaults: {
      grant_types: GRANT_TYPES,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
    clientAuthMethods: [...AUTH_METHODS],
    responseTypes: ['code'],
    extraClientMetadata: {
      // With any property listed, the validator sees all metadata of registered and fetched clients.
      properties: ['software_id'],
      validator(_ctx: unknown, _key: string, _value: unknown, metadata: AllClientMetadata) {
        try {
          adjustMetadata(metadata, rules)
        } catch (thrown) {
          if (!(thrown instanceof ClientRefused)) throw thrown
          throw new oidc.errors.CustomOIDCProviderError(thrown.code, thrown.message)
        }
      },
    },
    // The origin of a web page was checked earlier.
    clientBasedCORS: () => true,
  }
}

/** Metadata of a configured client, which gets tokens only for itself. */
const machineMetadata = async ({ id, sha256, jwks }: MachineClient): Promise<ClientMetadata> => ({
  client_id: id,
  client_name: id,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  ...(jwks === undefined
    ? { token_endpoint_auth_method: 'client_secret_basic', client_secret: sha256 }
    : { token_endpoint_auth_method: 'private_key_jwt', jwks: await readClientKeys(id, jwks) }),
})

/** Reads the public keys of a configured client. Rejects with a Fault `unavailable` if there are none. */
export const readClientKeys = async (
  id: string,
  file: string,
): Promise<NonNullable<ClientMetadata['jwks']>> => {
  try {
    const read: unknown = JSON.parse(await readFile(file, 'utf8'))
    if (!isObject(read) || !Array.isArray(read['keys']) || !read['keys'].every(isPublicKey))
      throw new TypeError('the file is not a JSON Web Key Set')
    return read as unknown as NonNullable<ClientMetadata['jwks']>
  } catch (thrown) {
    const message = `auth.embedded.clients.${id}.jwks: the file is missing or is not a JSON Web Key Set`
    throw new Fault('unavailable', message, { cause: thrown })
  }
}

/** The key types of asymmetric keys (RFC 7518 §6.1, RFC 8037 §2). */
const KEY_TYPES: ReadonlySet<unknown> = new Set(['RSA', 'EC', 'OKP'])

const isPublicKey = (key: unknown): boolean => isObject(key) && KEY_TYPES.has(key['kty'])

/** Rules for dynamic client registration. */
export const registrationRules = (embedded: EmbeddedServer) => ({
  enabled: embedded.registration === 'open',
  issueRegistrationAccessToken: false,
  idFactory: (ctx: KoaContextWithOIDC) => {
    // The library creates a secret according to this value, not to the default.
    if (ctx.oidc.body !== undefined) ctx.oidc.body['token_endpoint_auth_method'] ??= 'none'
    return randomId()
  },
})

/**
 * Overrides parts of oidc-provider without a setting: secrets are stored as hashes, tokens have a prefix, and
 * clients learn the supported scopes.
 */
export const refineClients = (provider: Provider, scopes: () => readonly string[]): void => {
  provider.Client.prototype.compareClientSecret = function (actual) {
    return isSameText(tokenHash(actual), this.clientSecret ?? '')
  }
  for (const model of [provider.AccessToken, provider.ClientCredentials, provider.RefreshToken])
    prefixTokens(model.prototype as unknown as TokenModel)
  provider.on('registration_create.success', (ctx: KoaContextWithOIDC) => {
    const asked: unknown = ctx.oidc.body?.['scope']
    if (typeof asked !== 'string') return
    const known = scopes()
    const scope = asked.split(' ').filter(each => known.includes(each))
    ctx.body = { ...(ctx.body as object), scope: scope.join(' ') }
  })
}

/** Missing in the types of oidc-provider. */
interface TokenModel {
  generateTokenId: (this: TokenModel) => string
}

const prefixTokens = (model: TokenModel): void => {
  const original = model.generateTokenId
  model.generateTokenId = function () {
    return issuedToken(original.call(this))
  }
}
