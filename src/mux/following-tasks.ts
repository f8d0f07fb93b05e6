import type { CallSink, Downlink, Request } from '../model/links.js'
import type { Undertaking } from './live-call.js'
import { TaskDriver, type TaskOptions } from './task-driver.js'

/** Whether a server makes tasks: before 2025-11-25 none does, and from 2026-07-28 on it is an extension that it declares. */
const makesTasks = ({ asking, facts }: Downlink): boolean =>
  asking === 'returned' ? facts.capabilities.tasks : facts.revision >= '2025-11-25'

/** Calls over a link, in such a way that a call of a tool that becomes a task ends with the result of the task. */
export const callFollowing = (
  link: Downlink,
  request: Request,
  sink: CallSink,
  options: () => TaskOptions,
): Undertaking => {
  if (request.method !== 'tools/call' || !makesTasks(link)) return link.call(request, sink)
  const driver = new TaskDriver(link, request, sink, options)
  driver.start()
  return driver
}
