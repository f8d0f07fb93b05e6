import { randomBytes } from 'node:crypto'
import { Fault } from '../../kernel/faults.js'

/** The part of `@napi-rs/keyring` that is used; it is installed by those who want it. */
interface Keyring {
  readonly Entry: new (
    service: string,
    account: string,
  ) => { getPassword(): string | null; setPassword(password: string): void }
}

const PACKAGE = '@napi-rs/keyring'
const KEY_BYTES = 32

/**
 * The key that seals logins, from the keychain of the user's system; made there when it is first wanted.
 * Rejects with a Fault if there is no keychain to be used.
 */
export const keychainKey = async (load: () => Promise<unknown> = () => import(PACKAGE)): Promise<Buffer> => {
  try {
    const { Entry } = (await load()) as Keyring
    const entry = new Entry('mcp-proxy', 'credentials')
    const kept = entry.getPassword()
    if (kept !== null) return Buffer.from(kept, 'base64')
    const key = randomBytes(KEY_BYTES)
    entry.setPassword(key.toString('base64'))
    return key
  } catch (thrown) {
    throw new Fault(
      'unavailable',
      `"credentialStore" is "keychain", which cannot be used: install ${PACKAGE}, and check that this user has a` +
        ' keychain; or leave it out',
      { cause: thrown },
    )
  }
}
