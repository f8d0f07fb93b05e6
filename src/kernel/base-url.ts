/** A path below which the proxy is served: no dots, no empty segment, and no slash at the end. */
export const BASE_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)+$/

/** Returns the path of a URL, without a slash at the end; empty for the root. */
export const basePathOf = ({ pathname }: URL): string => pathname.replace(/\/$/, '')

/** Returns the origin and path of a URL, to which paths can be added. */
export const baseUrlOf = (url: URL): string => url.origin + basePathOf(url)
