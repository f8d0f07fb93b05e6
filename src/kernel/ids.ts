/** Makes an id that nobody can guess: 128 random bits as 22 characters of base64url. */
export const unguessableId = (): string =>
  // What Node has for all to use: it is loaded with its first use, by programs that need it.
  Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url')
