import type { Views } from '../../catalog/views/views.js'
import type { Caller, RenewCaller } from '../../kernel/caller.js'
import type { GateOptions } from '../../transport/http/gate.js'

/** The paths of the endpoints; each has one of its own for each view, such as `/mcp/web`. */
export const FACES = ['/mcp', '/sse', '/messages', '/ws'] as const

/** The name of the view in a path such as `/mcp/web`; undefined for other paths. */
export const viewIn = (path: string): string | undefined => {
  const end = path.indexOf('/', 1)
  const isFace = end > 0 && (FACES as readonly string[]).includes(path.slice(0, end))
  return isFace ? path.slice(end + 1) : undefined
}

type Authorize = GateOptions['authorize']
type Admitted = Exclude<ReturnType<Authorize>, Promise<unknown>>

const NO_SUCH_VIEW: Admitted = { status: 404, headers: {}, body: '' }

/** Callers that come by the address of a view; equal ones are the same. */
export class ViewCallers {
  readonly #views: Views
  readonly #refusal: (path: string, scopes: readonly string[]) => Admitted | undefined
  readonly #copies = new WeakMap<Caller, Map<string, Caller>>()

  /** `refusal` is for callers without the scopes of a view. */
  constructor(views: Views, refusal: (path: string, scopes: readonly string[]) => Admitted | undefined) {
    this.#views = views
    this.#refusal = refusal
  }

  /** Lets in those who may have the view at their path. */
  authorizing(authorize: Authorize): Authorize {
    return (request, path) => {
      const admitted = authorize(request, path)
      const view = viewIn(path)
      if (view === undefined) return admitted
      const enter = (found: Admitted): Admitted =>
        'status' in found ? found : this.#enter(found, view, path)
      return admitted instanceof Promise ? admitted.then(enter) : enter(admitted)
    }
  }

  /** The same rule for callers that came by the address of a view. */
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
