import type { Downlink } from '../model/links.js'
import type { Undertaker } from './round-driver.js'
import { TaskDriver, type TaskOptions } from './task-driver.js'

/** Whether a server makes tasks: before 2025-11-25 none does, and from 2026-07-28 on it is an extension that it declares. */
const makesTasks = ({ asking, facts }: Downlink): boolean =>
  asking === 'returned' ? facts.capabilities.tasks : facts.revision >= '2025-11-25'

/** A link on which a call of a tool that becomes a task ends with the result of the task. */
export const followingTasks = (link: Downlink, options: TaskOptions): Undertaker => ({
  call(request, sink) {
    if (request.method !== 'tools/call' || !makesTasks(link)) return link.call(request, sink)
    const driver = new TaskDriver(link, request, sink, options)
    driver.start()
    return driver
  },
})
