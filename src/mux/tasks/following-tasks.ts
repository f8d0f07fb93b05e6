import type { CallSink, Downlink, Request } from '../../model/links.js'
import type { CallHandle } from '../calls/in-flight-call.js'
import { TaskDriver, type TaskOptions } from './task-driver.js'

/**
 * Whether a request may become a task at a server: before 2025-11-25 none makes any, and from 2026-07-28 on it is an extension
 * that it declares.
 */
export const mayBecomeTask = (method: string, { serverRequests, facts }: Downlink): boolean =>
  method === 'tools/call' &&
  (serverRequests === 'returned' ? facts.capabilities.tasks : facts.revision >= '2025-11-25')

/** Calls over a link, in such a way that a request that follows tasks ends with the result of the task that it becomes. */
export const callFollowing = (
  link: Downlink,
  request: Request,
  sink: CallSink,
  options: () => TaskOptions,
): CallHandle => {
  if (request.followsTasks !== true) return link.call(request, sink)
  const driver = new TaskDriver(link, request, sink, options)
  driver.start()
  return driver
}
