import type { OnGrantEvent } from '../../auth/authorization-server/grant-events.js'
import type { AuditConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { Principal } from '../../kernel/caller.js'
import type { Logger } from '../../kernel/logger.js'
import { IDENTITY } from '../../kernel/machine/identity.js'
import type { Meter } from '../../kernel/meter.js'
import { maskAddress, sanitizeLine } from '../../kernel/secrets/mask.js'
import { Audit, type AuditEntry, lineText } from '../../mux/calls/audit.js'
import type { OnAsked } from '../../mux/server-requests/server-requests.js'
import type { RefusedRequest } from '../../transport/http/gate.js'
import { LineRateLimiter } from '../logs/guarded-logger.js'
import { createStderrSink } from '../logs/logger.js'
import { AuditFile } from './audit-file.js'
import { AuditRecords } from './audit-records.js'
import { type AuditLine, type AuditSink, passOn } from './audit-sink.js'

const NAME_BYTES = 512

/** A destination without a disk. Undefined only passes the lines on. */
const sinkWithoutFile = (sink?: { write(line: string): void }): AuditSink => ({
  isAvailable: true,
  write(line) {
    sink?.write(`${line.text}\n`)
    passOn(line)
  },
  reopen: () => undefined,
  close: () => Promise.resolve(),
})

/** Writes the audit log. Does nothing if not configured. */
export interface AuditLog {
  /** Records sessions and calls. Undefined if nothing is audited. */
  readonly calls: Audit | undefined
  readonly onAsked: OnAsked | undefined
  readonly onRefused: ((refused: RefusedRequest, principal: Principal) => void) | undefined
  /** Records a step of a sign-in. Undefined if nothing is audited. */
  readonly onGrant: OnGrantEvent | undefined
  /** Records an event. */
  write(about: string, facts: Readonly<Record<string, unknown>>): void
  reloaded(result: object): void
  /** Records a change over the control API: its path and principal. */
  changed(path: string, principal: Principal): void
  /** Opens the file again after a rotation. */
  reopen(): void
  /** Resolves when all lines are written. Never rejects. */
  close(): Promise<void>
}

const NO_AUDIT: AuditLog = {
  calls: undefined,
  onAsked: undefined,
  onRefused: undefined,
  onGrant: undefined,
  write: () => undefined,
  reloaded: () => undefined,
  changed: () => undefined,
  reopen: () => undefined,
  close: () => Promise.resolve(),
}

interface AuditContext {
  readonly clock: Clock
  readonly log: Logger
  readonly meter?: Meter | undefined
  /** The name of this process among the replicas. Undefined without a cluster. */
  readonly replica?: string | undefined
}

/** Opens the configured audit log. Throws a Fault `unavailable` if its file is not writable. */
export const openAudit = (config: AuditConfig | undefined, context: AuditContext): AuditLog => {
  if (config === undefined) return NO_AUDIT
  const { clock, replica } = context
  const { withArguments, isStrict = false, otlp } = config
  const records = otlp && new AuditRecords(otlp, context)
  const sink = sinkOf(config, context, records)
  const audit = new Audit({
    ...{ write: (text, entry) => sink.write(lineOf(text, entry, records)), clock, now: () => new Date() },
    ...{ withArguments, replica, ...(isStrict && { isAvailable: () => sink.isAvailable }) },
  })
  const rate = new LineRateLimiter(clock)
  return {
    calls: audit,
    onAsked: audit.asked,
    onRefused({ status, remoteAddress: address, method, path, host, origin }, principal) {
      const unlogged = rate.admit(`${status} ${address}`)
      if (unlogged === undefined) return
      audit.write('refused', {
        principal,
        address,
        status,
        method,
        path: path && sanitizeLine(maskAddress(path)),
        host: host && sanitizeLine(host),
        origin: origin && sanitizeLine(origin),
        ...(unlogged > 0 && { unlogged }),
      })
    },
    onGrant({ event, principal, client, redirectHost, scopes, address, why, server }) {
      const unlogged = rate.admit(`grant ${event} ${address}`)
      if (unlogged === undefined) return
      audit.write('grant', {
        ...{ event, principal, address },
        client: client && sanitizeLine(client, NAME_BYTES),
        redirectHost: redirectHost && sanitizeLine(redirectHost, NAME_BYTES),
        scopes: scopes && sanitizeLine(scopes.join(' '), NAME_BYTES),
        server,
        why: why && sanitizeLine(why, NAME_BYTES),
        ...(unlogged > 0 && { unlogged }),
      })
    },
    write: (about, facts) => audit.write(about, facts),
    reloaded: result => audit.write('reload', { ...result }),
    changed: (path, principal) => audit.write('control', { principal, path: sanitizeLine(path) }),
    reopen: () => sink.reopen(),
    async close() {
      await sink.close()
      await records?.close()
    },
  }
}

const lineOf = (text: string, entry: AuditEntry, records: AuditRecords | undefined): AuditLine => ({
  ...{ text, isKept: entry.isKept },
  onText: records && (written => records.add(entry, written)),
})

const sinkOf = (
  { to, isStrict = false }: AuditConfig,
  context: AuditContext,
  records: AuditRecords | undefined,
): AuditSink => {
  if (to === undefined) return sinkWithoutFile()
  if (to === 'stderr') return sinkWithoutFile(createStderrSink())
  const { version } = IDENTITY
  const firstLine = (after: string | null): AuditLine => {
    const entry = { about: 'chain', time: new Date(), facts: { version, after }, isKept: true }
    return lineOf(lineText(entry), entry, records)
  }
  return new AuditFile(to.file, { ...context, isStrict, firstLine })
}
