/** Returns the keys in a JSON Pointer (RFC 6901). */
export const pointerSteps = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))

/** Returns a key as a step of a JSON Pointer, with its slash. */
export const pointerStep = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
