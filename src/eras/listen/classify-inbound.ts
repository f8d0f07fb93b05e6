import type { LimitCounters } from '../../kernel/limit-counters.js'
import type { ListenerOptions } from '../../rpc/host.js'
import { type Classified, classifyWithin } from '../../wire/classify.js'

/** Classifies a client's message; counts it once if it, or a member of a batch, is malformed. */
export const classifyInbound = (
  bytes: Buffer,
  bounds: LimitCounters,
  refused: ListenerOptions['refused'],
): Classified => {
  const classified = classifyWithin(bytes, bounds)
  if (isMalformed(classified)) refused?.('malformed')
  return classified
}

const isMalformed = (classified: Classified): boolean =>
  classified.is === 'malformed' || (classified.is === 'batch' && classified.items.some(isMalformed))
