import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/**
 * How much may be allocated between two collections of the whole heap; V8 collects its young part after 32
 * MiB at most.
 */
const ROOM_BYTES = 64 * 1024 * 1024
const HEAP_CHECK_MS = 1000
/** How much the estimate of the live heap may grow at each check. */
const CREEP = 1.02

/** How much bytecode V8 joins to a function that it optimizes. Code is kept for what it chooses itself. */
const JOINED_BYTES = { byStarts: 100, byItself: 920, byCalls: 1400 }

/**
 * After how much bytecode V8 considers to optimize a function: a quarter of its own bound, so that calls of a
 * new kind are fast a thousand calls earlier. Later versions than that of Node 20 have another compiler for
 * such code, or know no such flag.
 */
const WARM_BYTES = 16_896
/** When that begins: programs that make few calls would pay for code that they hardly run. */
const FIRST_CALLS_MS = 500
const V8_OF_NODE_20 = 11

const joinUpTo = (bytes: number): void =>
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${bytes}`)

let isStarting = true

/** What V8 is told about the start of a service. */
export const tuning = {
  /** Keeps the code that V8 has compiled, where the program can do that (bin/parts.cjs). */
  keeper: (): Promise<void> => Promise.resolve(),
  keepCode(): Promise<void> {
    joinUpTo(JOINED_BYTES.byItself)
    return tuning.keeper()
  },
  /**
   * Has it optimize small functions while servers start: large ones would be ready when their lists are read,
   * and take a tenth of all CPU of ours until then, which programs that start could use.
   */
  serversStart: (): void => {
    if (isStarting) joinUpTo(JOINED_BYTES.byStarts)
  },
  /**
   * Has it, once, keep young what calls leave behind, join the functions that a message goes through, and
   * optimize them soon if calls go on. For the first call: before it, that is not worth what compiling takes,
   * and kept code is only good for the flags that it was compiled with.
   */
  startIsOver: (): void => {
    if (!isStarting) return
    isStarting = false
    void tuning.keepCode()
    keepHeapYoung()
    // A message goes through many functions: with V8's own bound, those at the end of the way are called.
    joinUpTo(JOINED_BYTES.byCalls)
    if (Number.parseInt(process.versions.v8, 10) <= V8_OF_NODE_20)
      setTimeout(() => setFlagsFromString(`--interrupt-budget=${WARM_BYTES}`), FIRST_CALLS_MS).unref()
  },
}

/**
 * By how many percent a heap with this much in use may grow: by `ROOM_BYTES`, or twofold if that is more.
 * @internal
 */
export const growthPercent = (usedBytes: number): number =>
  Math.max(100, Math.round((100 * ROOM_BYTES) / usedBytes))

/**
 * Has V8 collect what calls leave while it is young. It must not allocate among the old what once outlived
 * two collections, such as an entry of a list: each one that is dead keeps all calls after it in memory until
 * the next full collection, which is a third of the CPU of small calls.
 */
const keepHeapYoung = (): void => {
  setFlagsFromString('--no-allocation-site-pretenuring')
  keepHeapRoom()
}

/**
 * Gives V8 room to collect young objects first. It counts the bytes of messages as part of the heap, which is
 * small beside large messages, and would otherwise collect all of it every few of them (V8,
 * src/heap/memory-controller.h). Halves the cost of large messages.
 */
const keepHeapRoom = (): void => {
  let liveBytes = Number.POSITIVE_INFINITY
  let percent = 0
  const check = (): void => {
    liveBytes = Math.min(liveBytes * CREEP, getHeapStatistics().used_heap_size)
    const next = growthPercent(liveBytes)
    if (Math.abs(next - percent) * 10 < percent) return
    percent = next
    setFlagsFromString(`--heap-growing-percent=${percent}`)
  }
  check()
  setInterval(check, HEAP_CHECK_MS).unref()
}
