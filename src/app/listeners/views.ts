import type { Views } from '../../catalog/views/views.js'
import type { Caller, RenewCaller } from '../../kernel/caller.js'
import type { GateOptions } from '../../transport/http/gate.js'
import { parseEndpointPath } from '../../wire/http/endpoint-path.js'

type Authorize = GateOptions['authorize']
type Admitted = Exclude<ReturnType<Authorize>, Promise<unknown>>

const NO_SUCH_VIEW: Admitted = { status: 404, headers: {}, body: '' }

/** Creates one caller object per caller and view, so that equal callers are identical. */
export class ViewCallers {
  readonly #views: Views
  readonly #refusal: (path: string, scopes: readonly string[]) => Admitted | undefined
  readonly #copies = new WeakMap<Caller, Map<string, Caller>>()

  /** `refusal` builds the answer for callers without the scopes of a view. */
  constructor(views: Views, refusal: (path: string, scopes: readonly string[]) => Admitted | undefined) {
    this.#views = views
    this.#refusal = refusal
  }

  /** Admits callers with access to the view in their path. */
  authorizing(authorize: Authorize): Authorize {
    return (request, path) => {
      const admitted = authorize(request, path)
      const view = parseEndpointPath(path)?.view
      if (view === undefined) return admitted
      const enter = (found: Admitted): Admitted =>
        'status' in found ? found : this.#enter(found, view, path)
      return admitted instanceof Promise ? admitted.then(enter) : enter(admitted)
    }
  }

  /** Applies the same rule when callers are renewed. */
  renewing(renew: RenewCaller): RenewCaller {
    return caller => {
      const renewed = renew(caller)
      const view = caller.view === undefined ? undefined : this.#views.named(caller.view)
      return renewed === undefined || view?.isOpenTo(renewed) === false ? undefined : renewed
    }
  }

  #enter(caller: Caller, name: string, path: string): Admitted {
    const view = this.#views.named(name)
    if (view === undefined || view.isOpenTo(caller)) return this.#at(name, caller)
    return this.#refusal(path, view.rules.scopes) ?? NO_SUCH_VIEW
  }

  #at(view: string, caller: Caller): Caller {
    const copies = this.#copies.get(caller) ?? new Map<string, Caller>()
    this.#copies.set(caller, copies)
    const copy = copies.get(view) ?? { ...caller, view }
    copies.set(view, copy)
    return copy
  }
}
