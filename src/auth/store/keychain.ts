import { randomBytes } from 'node:crypto'
import { Fault } from '../../kernel/faults.js'

/** The used part of the optional package `@napi-rs/keyring`. */
interface Keyring {
  readonly Entry: new (
    service: string,
    account: string,
  ) => { getPassword(): string | null; setPassword(password: string): void }
}

const PACKAGE = '@napi-rs/keyring'
const KEY_BYTES = 32

/**
 * Returns the key that seals logins from the system's keychain; creates it on first use. Rejects with a Fault
 * without a usable keychain.
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
