import { useEffect, useState } from 'preact/hooks'
import { read, wordsOf } from '../live/api.js'

/** What was read, or why it was not; both undefined until an answer came. */
export interface Loaded<T> {
  readonly value?: T
  readonly why?: string
}

/** Reads a path of the API, if any, again whenever `stamp` changes; what was read before stays meanwhile. */
export const useLoad = <T>(path: string | undefined, stamp: unknown = ''): Loaded<T> => {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly path?: string }>({})
  useEffect(() => {
    if (path === undefined) return undefined
    const abort = new AbortController()
    read<T>(path, abort.signal).then(
      value => setLoaded({ value, path }),
      (thrown: unknown) => abort.signal.aborted || setLoaded({ why: wordsOf(thrown), path }),
    )
    return () => abort.abort()
  }, [path, stamp])
  return loaded.path === path ? loaded : {}
}
