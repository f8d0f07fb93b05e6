let last = 0

/** A number for a new client, unique in this process; for logs and tables, never on a wire. */
export const newClientId = (): number => {
  last += 1
  return last
}
