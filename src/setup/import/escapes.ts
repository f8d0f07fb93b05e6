/** Escapes a value for our files, where `${` starts a variable. */
export const literal = (value: string): string => value.replaceAll('${', '$$${')

/** Returns a valid name for `${…}`. */
export const variableName = (text: string): string => {
  const name = text
    .toUpperCase()
    .replace(/[^A-Z0-9]+/g, '_')
    .replace(/^[_\d]+|_+$/g, '')
  return name === '' ? 'SECRET' : name
}
