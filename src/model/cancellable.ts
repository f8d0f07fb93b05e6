import type { CancelReason, OnCancelled, Release } from './links.js'

/** The base of calls: keeps the listeners for their cancellation. */
export abstract class Cancellable {
  #listeners: OnCancelled[] = []

  onCancelled(listener: OnCancelled): Release {
    this.#listeners.push(listener)
    return () => {
      this.#listeners = this.#listeners.filter(one => one !== listener)
    }
  }

  /** Notifies the listeners, the latest first; each of them once. */
  protected cancelled(reason: CancelReason): void {
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners.reverse()) listener(reason)
  }
}
