import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** A 32-byte key with the id that sealed texts carry. */
export interface SealKey {
  readonly kid: string
  readonly key: Uint8Array
}

const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32
const GCM = 'aes-256-gcm'

/**
 * Seals data into text over AES-256-GCM: `v1.<kid>.<base64url(nonce ‖ ciphertext ‖ tag)>`. The first key
 * seals, all of them open. Text that was sealed for one purpose cannot be opened for another.
 */
export class TextSeal {
  readonly #keys: ReadonlyMap<string, Buffer>
  readonly #first: SealKey
  readonly #purpose: Buffer

  /** Throws a TypeError for invalid keys. */
  constructor(keys: readonly SealKey[], purpose: string) {
    this.#keys = new Map(keys.map(({ kid, key }) => [kid, Buffer.from(key)]))
    this.#purpose = Buffer.from(`mcp-proxy/${purpose}/v1`)
    const [first] = keys
    if (first === undefined) throw new TypeError('A sealer needs a key')
    this.#first = first
    if (this.#keys.size < keys.length) throw new TypeError('Two keys of a sealer have the same kid')
    for (const [kid, key] of this.#keys) {
      if (!/^[\w-]{1,32}$/.test(kid)) throw new TypeError('A kid must be 1 to 32 of A-Z a-z 0-9 _ -')
      if (key.length !== KEY_BYTES) throw new TypeError(`A key must have ${KEY_BYTES} bytes`)
    }
  }

  seal(plain: Uint8Array): string {
    const { kid, key } = this.#first
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(GCM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(this.#purpose)
    const body = Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
    return `${VERSION}.${kid}.${body.toString('base64url')}`
  }

  /** Returns undefined for foreign or modified text. */
  open(text: string): Buffer | undefined {
    const [version, kid = '', encoded = '', ...more] = text.split('.', 4)
    const key = this.#keys.get(kid)
    if (version !== VERSION || key === undefined || more.length > 0) return undefined
    const body = Buffer.from(encoded, 'base64url')
    // The decoder ignores foreign characters and the unused bits of the last one.
    if (body.toString('base64url') !== encoded || body.length < NONCE_BYTES + TAG_BYTES) return undefined
    const end = body.length - TAG_BYTES
    try {
      const cipher = createDecipheriv(GCM, key, body.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
      cipher.setAAD(this.#purpose).setAuthTag(body.subarray(end))
      return Buffer.concat([cipher.update(body.subarray(NONCE_BYTES, end)), cipher.final()])
    } catch {
      return undefined
    }
  }
}
