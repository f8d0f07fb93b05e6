/**
 * Whether a text is not empty and holds only 0x21 to 0x7E: what an `Mcp-Session-Id` may be (spec 2025-11-25,
 * transports, "Session Management").
 */
export const isVisibleAscii = (text: string): boolean => /^[!-~]+$/.test(text)

/**
 * Makes foreign text safe as a header value: takes out control characters, so that it cannot begin another
 * header, and the spaces around it; puts `?` for what is not ASCII, which Node refuses to send or garbles.
 */
export const cleanHeaderText = (text: string): string =>
  text
    .replaceAll(/\p{Cc}/gu, '')
    .replaceAll(/[^ -~]/gu, '?')
    .trim()
