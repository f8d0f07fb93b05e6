import { useEffect, useState } from 'preact/hooks'
import { messageOf, read } from '../live/api.js'

/** The value or the error of a request; both undefined until an answer arrives. */
export interface LoadedData<T> {
  readonly value?: T
  readonly why?: string
}

/** Reads a path of the API, and again whenever `stamp` changes. Keeps the previous value meanwhile. */
export const useLoad = <T>(path: string | undefined, stamp: unknown = ''): LoadedData<T> => {
  const [loaded, setLoaded] = useState<LoadedData<T> & { readonly path?: string }>({})
  useEffect(() => {
    if (path === undefined) return undefined
    const abort = new AbortController()
    read<T>(path, abort.signal).then(
      value => setLoaded({ value, path }),
      (thrown: unknown) => abort.signal.aborted || setLoaded({ why: messageOf(thrown), path }),
    )
    return () => abort.abort()
  }, [path, stamp])
  return loaded.path === path ? loaded : {}
}
