import { isRecord } from './drafts.js'

/** What a server says that a tool does. */
export const ACCESS = ['read', 'write', 'destructive', 'unmarked'] as const
type Access = (typeof ACCESS)[number]

/** Returns what the annotations of a tool say that it does. */
export const accessOfTool = (annotations: unknown): Access => {
  if (!isRecord(annotations)) return 'unmarked'
  const { readOnlyHint, destructiveHint } = annotations
  if (readOnlyHint === true) return 'read'
  if (destructiveHint === true) return 'destructive'
  return readOnlyHint === false || destructiveHint === false ? 'write' : 'unmarked'
}

export const AccessTag = ({ access }: { readonly access: Access }) => (
  <span class={`tag ${access}`}>{access}</span>
)
