/**
 * The npm package of this program. While it is not published, anyone may register its name: no text, offer or
 * entry may have it fetched from a registry. Whatever depends on that derives from here.
 */
export const OWN_PACKAGE: { readonly name: string; readonly isPublished: boolean } = {
  name: 'mcp-proxy-daemon',
  isPublished: false,
}

/**
 * Installs the package of a folder for good: from the registry or, if it is not published, as a copy of that
 * folder. Scripts are ignored, because the folder is built.
 */
export const installWords = (folder: string, { name, isPublished } = OWN_PACKAGE): readonly string[] =>
  isPublished ? [name] : ['--ignore-scripts', '--install-links', folder]
