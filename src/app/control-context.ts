import type { Connect } from '../auth/pages/connect.js'
import type { ControlApiContext } from '../control/api/context.js'
import type { Logger } from '../kernel/logger.js'
import type { Router } from '../mux/router.js'
import type { AuditLog } from '../telemetry/audit/audit-log.js'
import { restartServer } from './observability.js'
import type { ProxyOptions } from './proxy-contract.js'
import type { ServerSwitches } from './server-switches.js'

type Own = 'disabled' | 'problems' | 'lines' | 'reload' | 'restart' | 'setEnabled' | 'switchTool'

interface ControlParts extends Omit<ControlApiContext, Own | 'changed' | 'signInUrl' | 'failed' | 'router'> {
  readonly router: Router
  readonly options: ProxyOptions
  readonly switches: ServerSwitches
  readonly audit: AuditLog
  readonly connect: Connect
  readonly log: Logger
}

/** Returns what the control API reads and controls of a running proxy. */
export const controlContext = (parts: ControlParts): ControlApiContext => {
  const { options, switches, audit, connect, log, router, ...shared } = parts
  const { lines, configProblems, reread, switchTool } = options
  return {
    ...shared,
    router,
    disabled: () => switches.off,
    problems: () => configProblems?.() ?? [],
    lines,
    reload: () => reread?.(),
    restart: name => restartServer(router, name),
    setEnabled: (name, isEnabled) => switches.set(name, isEnabled),
    switchTool,
    changed: (path, { principal }) => audit.changed(path, principal),
    signInUrl: (name, { principal }) => connect.signInUrl(router.pool, name, principal),
    failed: fault => {
      if (fault.code === 'internal') log.error({ err: fault }, 'a request to the control API failed')
    },
  }
}
