import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { Logger } from '../../kernel/logger.js'
import type { HttpStream } from '../../wire/http.js'

interface CutOffContext {
  readonly bounds: LimitCounters
  readonly log: Logger
}

/** Destroys the event stream of a client that does not read it. */
export const cutOff = (out: HttpStream, { bounds, log }: CutOffContext): void => {
  bounds.hit('streamQueue')
  log.warn({ queuedBytes: out.queuedBytes }, 'cut off a client that does not read its event stream')
  out.destroy()
}
