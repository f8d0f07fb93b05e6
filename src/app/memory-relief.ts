import { type MemoryPressureOptions, watchMemory } from '../telemetry/status/memory-pressure.js'
import type { Endpoint } from './proxy-contract.js'

/** Under memory pressure, limits for unread and unfinished data are divided by this. */
const SHED_PART = 16

interface MemoryReliefOptions extends Pick<MemoryPressureOptions, 'bounds' | 'clock' | 'log'> {
  /** All open endpoints; the proxy adds to it. */
  readonly endpoints: readonly Endpoint[]
}

/** Frees caches while memory is short and, under high pressure, unread or unfinished data of peers. */
export class MemoryRelief {
  readonly #timer: ReturnType<typeof watchMemory>
  #lagMs = 0

  constructor({ endpoints, ...options }: MemoryReliefOptions) {
    const { bounds } = options
    const relieve = (): void => {
      for (const endpoint of endpoints) endpoint.shed?.()
      if (bounds.pressure < 3) return
      for (const account of [bounds.inbound, bounds.unread]) account.shed(account.maxBytes / SHED_PART)
    }
    const onLate = (ms: number): void => {
      this.#lagMs = ms
    }
    this.#timer = watchMemory({ ...options, relieve, onLate })
  }

  /** The lag of the event loop at the last check. */
  get lagMs(): number {
    return this.#lagMs
  }

  close(): void {
    this.#timer.cancel()
  }
}
