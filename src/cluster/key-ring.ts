import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

const GCM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_BYTES = 32

/** The use of a key. Data sealed for one purpose cannot be opened for another. */
type Purpose = 'session-id' | 'record' | 'link' | 'name' | 'note'

const PURPOSES: readonly Purpose[] = ['session-id', 'record', 'link', 'name', 'note']

type Derived = Readonly<Record<Purpose, Buffer>>

const derive = (secret: Buffer): Derived =>
  Object.fromEntries(
    PURPOSES.map(purpose => [
      purpose,
      Buffer.from(hkdfSync('sha256', secret, '', `mcp-proxy cluster ${purpose}`, KEY_BYTES)),
    ]),
  ) as Derived

/**
 * The keys shared by all replicas. The first key seals and signs; all keys open and verify, so that keys can
 * be rotated while the replicas run. Derives all keys at the start.
 */
export class KeyRing {
  /** Public identifiers of the keys, in order. */
  readonly names: readonly string[]
  readonly #keys: readonly Derived[]
  readonly #first: Derived
  readonly #lowest: Derived

  /** `keys` are 32 bytes in base64 each; throws a TypeError without any. */
  constructor(keys: readonly string[]) {
    this.#keys = keys.map(key => derive(Buffer.from(key, 'base64')))
    const [first] = this.#keys
    if (first === undefined) throw new TypeError('A cluster needs a key')
    this.#first = first
    this.#lowest = this.#keys.reduce((low, key) => (Buffer.compare(key.name, low.name) < 0 ? key : low))
    this.names = this.#keys.map(({ name }) => name.toString('base64url').slice(0, 8))
  }

  /** Returns `nonce ‖ sealed ‖ tag`; `about` is authenticated data that `open` must repeat. */
  seal(purpose: Purpose, about: string, plain: Buffer): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(GCM, this.#first[purpose], nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(Buffer.from(about))
    return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
  }

  /** Returns undefined for foreign or altered data, or a different `about`. */
  open(purpose: Purpose, about: string, sealed: Buffer): Buffer | undefined {
    if (sealed.length < NONCE_BYTES + TAG_BYTES) return undefined
    for (const keys of this.#keys) {
      const plain = opened(keys[purpose], about, sealed)
      if (plain !== undefined) return plain
    }
    return undefined
  }

  /** Returns an opaque name for `text`, equal in all replicas with these keys in any order. */
  nameOf(text: string): string {
    return createHmac('sha256', this.#lowest.note).update(text).digest('base64url').slice(0, 22)
  }

  sign(text: string): Buffer {
    return signed(this.#first, text)
  }

  isSigned(text: string, mac: Buffer): boolean {
    return this.#keys.some(keys => {
      const expected = signed(keys, text)
      return mac.length === expected.length && timingSafeEqual(mac, expected)
    })
  }
}

/** Reports whether a member has the same keys, so that results of `nameOf` can be compared. */
export const hasKeysOf = (
  { names }: Pick<KeyRing, 'names'>,
  { keys }: { readonly keys: readonly string[] },
): boolean => names.every(name => keys.includes(name)) && keys.every(key => names.includes(key))

const signed = ({ link }: Derived, text: string): Buffer => createHmac('sha256', link).update(text).digest()

const opened = (key: Buffer, about: string, sealed: Buffer): Buffer | undefined => {
  const body = sealed.subarray(NONCE_BYTES, sealed.length - TAG_BYTES)
  const cipher = createDecipheriv(GCM, key, sealed.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
  cipher.setAAD(Buffer.from(about))
  cipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
  try {
    return Buffer.concat([cipher.update(body), cipher.final()])
  } catch {
    return undefined
  }
}
