import type { JsonText } from '../kernel/json/text.js'

interface WithParams {
  readonly params: JsonText | undefined
  /** What was known of the params. */
  readonly isBare?: boolean | undefined
}

/** The same request with other params; nothing that was known of the old text is said of the new one. */
export const withParams = <R extends WithParams>(request: R, params: JsonText | undefined): R => ({
  ...request,
  params,
  isBare: false,
})
