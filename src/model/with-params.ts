import type { JsonText } from '../kernel/json/text.js'

interface WithParams {
  readonly params: JsonText | undefined
  /** A property of the current params. */
  readonly isBare?: boolean | undefined
}

/** Returns the same request with other params, without the known properties of the old ones. */
export const withParams = <R extends WithParams>(request: R, params: JsonText | undefined): R => ({
  ...request,
  params,
  isBare: false,
})
