/** Does nothing. */
export const nothing = (): void => undefined

export const NO_BYTES = Buffer.alloc(0)
