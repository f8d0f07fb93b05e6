import { Fault } from '../../kernel/faults.js'
import { objectIn } from '../../kernel/object.js'
import { type Discovery, type DiscoveryRequest, discover, type Visited } from './discover.js'

/** Runs discovery. Rejects with a Fault whose reason is `auth-unreachable`. */
export const runDiscovery = async (
  request: DiscoveryRequest,
  { fetch, revision }: { readonly fetch: typeof globalThis.fetch; readonly revision: string },
): Promise<Discovery> => {
  const steps = discover(request)
  for (let step = steps.next(); ; ) {
    if (step.done === true) return step.value
    step = steps.next(await visit(step.value, fetch, revision))
  }
}

/** Requests a document; a redirect counts as none. Never rejects. */
const visit = async (url: string, fetch: typeof globalThis.fetch, revision: string): Promise<Visited> => {
  try {
    const headers = { accept: 'application/json', 'mcp-protocol-version': revision }
    const response = await fetch(url, { headers })
    const { status } = response
    if ((status >= 300 && status < 500) || status === 502) return { is: 'none' }
    if (status !== 200) return { is: 'failed', why: `HTTP status ${status}` }
    const isJson = /^application\/(?:[\w.-]+\+)?json\b/i.test(response.headers.get('content-type') ?? '')
    const value = isJson ? objectIn(await response.text()) : undefined
    return value === undefined ? { is: 'failed', why: 'it is not a JSON object' } : { is: 'document', value }
  } catch (thrown) {
    return { is: 'failed', why: Fault.from(thrown).message }
  }
}
