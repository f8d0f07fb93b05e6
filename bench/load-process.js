// Controls the load generator: a process that runs one job after the other.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { adopt, OWN_STATE } from './programs.js'

const MAIN = fileURLToPath(new URL('load/main.js', import.meta.url))

export class LoadProcess {
  #process = adopt(fork(MAIN, { env: { ...process.env, ...OWN_STATE } })).child
  #waiting = new Map()
  #last = 0

  constructor() {
    this.#process.on('message', ({ id, result, error }) => {
      const { resolve, reject } = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (error === undefined) resolve(result)
      else reject(new Error(error))
    })
    this.#process.on('exit', code => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the load generator ended with ${code}`))
      this.#waiting.clear()
    })
  }

  /** Runs a job of load/main.js. */
  tell(job, args) {
    return new Promise((resolve, reject) => {
      if (!this.#process.connected) {
        reject(new Error('the load generator is gone'))
        return
      }
      this.#last += 1
      this.#waiting.set(this.#last, { resolve, reject })
      this.#process.send({ id: this.#last, job, args })
    })
  }
}
