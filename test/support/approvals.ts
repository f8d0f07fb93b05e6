import { LimitCounters } from '../../src/kernel/limit-counters.js'
import { DEFAULT_LIMITS, type Limits } from '../../src/kernel/limits.js'
import type { Approval, ApprovalEvent } from '../../src/mux/rules/approval-records.js'
import type { CallApprovals } from '../../src/mux/rules/approvals.js'
import type { RuleGate } from '../../src/mux/rules/gate.js'
import type { FakeClient } from './client/fake-client.js'
import { FakeClock } from './fake-clock.js'
import { World } from './proxy/router.js'
import { gateOf } from './rules.js'
import type { Script } from './server/fake-server.js'
import { tool } from './values.js'

const ASKING_SHOP: Script = { tools: [tool('refund'), tool('read')], prompts: [{ name: 'p' }] }

export const FORM = { roots: undefined, sampling: undefined, elicitation: { form: true, url: false } }
export const URLS = { ...FORM, elicitation: { form: false, url: true } }
export const NONE = { ...FORM, elicitation: undefined }

export interface AskingOptions {
  readonly script?: Script
  readonly hasPage?: boolean
  readonly hasCommands?: boolean
  readonly limits?: Partial<Limits>
}

/** A router whose rules ask people. */
export class AskingWorld {
  readonly clock = new FakeClock()
  readonly events: ApprovalEvent[] = []
  readonly gate: RuleGate
  readonly world: World
  readonly approvals: CallApprovals

  constructor(rules: unknown, options: AskingOptions = {}) {
    const { script = ASKING_SHOP, hasPage = true, hasCommands = true, limits = {} } = options
    const { clock } = this
    this.gate = gateOf(rules, {
      clock,
      bounds: new LimitCounters({ limits: { ...DEFAULT_LIMITS, ...limits }, clock }),
      approvals: {
        router: () => this.world.router,
        pageUrl: id => (hasPage ? `http://127.0.0.1:1/approvals/${id}` : undefined),
        hasCommands: () => hasCommands,
        onEvent: event => this.events.push(event),
      },
    })
    this.world = new World({ shop: script }, { clock, rules: () => this.gate })
    if (this.gate.approvals === undefined) throw new Error('nobody can be asked')
    this.approvals = this.gate.approvals
  }

  /** Connects a client that has seen the tools. */
  async client(about: ConstructorParameters<typeof FakeClient>[1] = {}): Promise<FakeClient> {
    const client =
      about.revision === '2026-07-28' ? this.world.newcomer(about) : await this.world.client(about)
    await client.list('tools/list')
    return client
  }

  /** The requests that the server received. */
  get sent(): unknown[] {
    return this.world
      .server('shop')
      .got('tools/call')
      .map(({ params }) => params)
  }

  /** The only approval that waits. */
  get waiting(): Approval {
    const [one, ...more] = this.approvals.records.waiting
    if (one === undefined || more.length > 0) throw new Error(`${more.length} more approvals wait`)
    return one
  }

  decide(isAllowed: boolean, approval = this.waiting): boolean {
    return this.approvals.records.decide(approval, isAllowed, { by: 'local', via: 'page' })
  }
}
