// What a process has used, as Linux tells it; elsewhere nothing is known.
import { readdirSync, readFileSync } from 'node:fs'

/** CPU time of all threads of a process in microseconds. */
export const cpuUs = pid => {
  try {
    let ns = 0
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ', 1)[0])
    }
    return ns / 1000
  } catch {
    return Number.NaN
  }
}

/** Memory of a process that is in RAM, in KiB. */
export const residentKiB = pid => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))[1])
  } catch {
    return Number.NaN
  }
}
