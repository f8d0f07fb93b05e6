/** Shares one instance among equal values while any user holds it. */
export class Interned<T extends object> {
  readonly #values = new Map<string, WeakRef<T>>()
  readonly #gone = new FinalizationRegistry<string>(key => {
    if (this.#values.get(key)?.deref() === undefined) this.#values.delete(key)
  })

  get(key: string, make: () => T): T {
    const kept = this.#values.get(key)?.deref()
    if (kept !== undefined) return kept
    const made = make()
    this.#values.set(key, new WeakRef(made))
    this.#gone.register(made, key)
    return made
  }
}
