const START = '{"method":'

/**
 * Whether a message is written as the SDKs write requests, `method` first, and hardly anybody else does.
 * Clients of the TypeScript SDK handle notifications a moment after they read them, but answers at once
 * (`packages/core/src/shared/protocol.ts`, `_onnotification` and `_onresponse`).
 */
export function isOfSdk(message: Buffer): boolean {
  for (let i = 0; i < START.length; i++) if (message[i] !== START.charCodeAt(i)) return false
  return true
}
