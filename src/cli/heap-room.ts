import { getHeapStatistics, setFlagsFromString } from 'node:v8'

const MIB = 1024 * 1024
/** What may be made between two collections of the whole heap; V8 collects what is young after 32 MiB of it at the latest. */
const ROOM_BYTES = 64 * MIB
/** At least as much as there is already. */
const LEAST_PERCENT = 100
const LOOK_MS = 1000
/** How much more of the heap may be in use at each look, before it is taken for what stays. */
const CREEP = 1.02

/** By how many percent a heap may grow in which so much is in use. */
export const growthPercent = (usedBytes: number): number =>
  Math.max(LEAST_PERCENT, Math.round((100 * ROOM_BYTES) / usedBytes))

/**
 * The bytes of messages count for V8 as part of the heap, and ours is small beside large messages: left alone it collects all of
 * it every few of them, before a collection of what is young, which is enough, has had its turn (V8, src/heap/memory-controller.h). With
 * room for that, large messages cost half. The room is the same however large the heap becomes, so that no more than it is wasted.
 */
export const keepHeapRoom = (): void => {
  let stays = Number.POSITIVE_INFINITY
  let percent = 0
  const look = (): void => {
    stays = Math.min(stays * CREEP, getHeapStatistics().used_heap_size)
    const next = growthPercent(stays)
    if (Math.abs(next - percent) * 10 < percent) return
    percent = next
    setFlagsFromString(`--heap-growing-percent=${percent}`)
  }
  look()
  setInterval(look, LOOK_MS).unref()
}
