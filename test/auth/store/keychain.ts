import t from 'tap'
import { keychainKey } from '../../../src/auth/store/keychain.js'

/** A keychain that holds what was put there. */
const keychain = () => {
  const kept = new Map<string, string>()
  class Entry {
    readonly #name: string

    constructor(service: string, account: string) {
      this.#name = `${service} ${account}`
    }

    getPassword(): string | null {
      return kept.get(this.#name) ?? null
    }

    setPassword(password: string): void {
      kept.set(this.#name, password)
    }
  }
  return { kept, load: async () => ({ Entry }) }
}

t.test('the key that seals logins is made once, and kept in the keychain', async t => {
  const { kept, load } = keychain()
  const key = await keychainKey(load)
  t.equal(key.length, 32)
  t.same([...kept], [['mcp-proxy credentials', key.toString('base64')]])
  t.same(await keychainKey(load), key)
})

t.test('without a keychain, the error names the package to install', async t => {
  const words = /"credentialStore" is "keychain", which cannot be used: install @napi-rs\/keyring/
  await t.rejects(keychainKey(), { code: 'unavailable', message: words }, 'it is not installed here')
  class Entry {
    getPassword(): string | null {
      throw new Error('no secret service')
    }
  }
  await t.rejects(
    keychainKey(async () => ({ Entry })),
    { message: words },
  )
})
