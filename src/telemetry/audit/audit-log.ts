import { createWriteStream, fstatSync, openSync } from 'node:fs'
import type { OnGrantEvent } from '../../auth/authorization-server/grant-events.js'
import type { AuditConfig } from '../../config/types.js'
import type { Clock } from '../../kernel/async/clock.js'
import type { Principal } from '../../kernel/caller.js'
import { Fault, systemCode } from '../../kernel/faults.js'
import type { Logger } from '../../kernel/logger.js'
import type { Meter } from '../../kernel/meter.js'
import { maskAddress, sanitizeLine } from '../../kernel/secrets/mask.js'
import type { Counter } from '../../kernel/series.js'
import { Audit } from '../../mux/calls/audit.js'
import type { OnAsked } from '../../mux/server-requests/server-requests.js'
import { isPrivate } from '../../state/private-file.js'
import type { RefusedRequest } from '../../transport/http/gate.js'
import { LineRateLimiter } from '../logs/guarded-logger.js'
import { createStderrSink } from '../logs/logger.js'

interface AuditSink {
  /** Writes a line, passed without its line feed. */
  write(line: string): void
  reopen(): void
  close(): Promise<void>
}

const NAME_BYTES = 512

/** Maximum bytes queued for a slow disk. Further lines are dropped and counted. */
const QUEUE_BYTES = 16 * 1024 * 1024

const stderrSink = (sink = createStderrSink()): AuditSink => ({
  write: line => sink.write(`${line}\n`),
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
  const { clock, log, meter, replica } = context
  const { to, withArguments } = config
  const sink = to === 'stderr' ? stderrSink() : new AuditFile(to.file, { clock, log, meter })
  const audit = new Audit({
    ...{ write: line => sink.write(line), clock, now: () => new Date(), withArguments, replica },
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
    reloaded: result => audit.write('reload', { ...result }),
    changed: (path, principal) => audit.write('control', { principal, path: sanitizeLine(path) }),
    reopen: () => sink.reopen(),
    close: () => sink.close(),
  }
}

/** Delay before a failed file is opened again. */
const RETRY_MS = 5000

/** Appends to a file that only its user can read. Drops lines while writes fail. */
class AuditFile implements AuditSink {
  readonly #file: string
  readonly #clock: Clock
  readonly #log: Logger
  readonly #lost: Counter | undefined
  #stream: ReturnType<typeof createWriteStream>
  #openedMs = 0
  #dropped = 0

  constructor(file: string, { clock, log, meter }: AuditContext) {
    this.#file = file
    this.#clock = clock
    this.#log = log
    this.#lost = meter?.counter('mcp_proxy_audit_lines_dropped')
    this.#stream = this.#open()
  }

  write(line: string): void {
    if (this.#stream.destroyed && this.#clock.nowMs() - this.#openedMs >= RETRY_MS) this.reopen()
    if (this.#stream.writableLength > QUEUE_BYTES || !this.#stream.writable) {
      this.#dropped += 1
      this.#lost?.add()
    } else this.#stream.write(`${line}\n`)
  }

  reopen(): void {
    const before = this.#stream
    try {
      this.#stream = this.#open()
      before.end()
      this.#report()
    } catch (thrown) {
      this.#log.error({ err: thrown }, 'cannot reopen the audit file')
    }
  }

  close(): Promise<void> {
    this.#report()
    return new Promise(resolve => {
      if (this.#stream.closed) resolve()
      else this.#stream.once('close', resolve).end()
    })
  }

  #open(): ReturnType<typeof createWriteStream> {
    this.#openedMs = this.#clock.nowMs()
    const fd = open(this.#file)
    const found = fstatSync(fd)
    if (found.isFile() && !isPrivate(found)) {
      this.#log.warn(
        { file: this.#file },
        'other users may write to the audit file: its content cannot be trusted',
      )
    }
    const stream = createWriteStream(this.#file, { fd })
    stream.on('error', error =>
      this.#log.error({ err: error }, 'cannot write to the audit file; trying again'),
    )
    stream.on('drain', () => this.#report())
    return stream
  }

  #report(): void {
    if (this.#dropped === 0) return
    this.#log.error({ dropped: this.#dropped }, 'dropped audit lines: the disk failed or is too slow')
    this.#dropped = 0
  }
}

const open = (file: string): number => {
  try {
    return openSync(file, 'a', 0o600)
  } catch (thrown) {
    const code = systemCode(thrown) ?? 'unknown reason'
    throw new Fault('unavailable', `cannot write the audit file ${file} (${code}): check "audit"`, {
      cause: thrown,
    })
  }
}
