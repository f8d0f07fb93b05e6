import type { CallSink, Downlink, Request } from '../../model/links.js'
import type { CallHandle } from '../calls/in-flight-call.js'
import { TaskDriver, type TaskOptions } from './task-driver.js'

/** Whether a request may become a task at a server. */
export const mayBecomeTask = (method: string, link: Downlink): boolean =>
  method === 'tools/call' && link.mayReturnTasks

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
