/** Memoizes a pure function of objects, such as lists kept for many calls, for their lifetime. */
export function memoize<K extends object, V extends string | object>(read: (object: K) => V) {
  const known = new WeakMap<K, V>()
  return (object: K): V => {
    const before = known.get(object)
    if (before !== undefined) return before
    const value = read(object)
    known.set(object, value)
    return value
  }
}
