/**
 * The npm package of this program. While it is unpublished, anyone could register its name, so no text or
 * configuration may fetch it from a registry. All such decisions derive from this constant.
 */
export const OWN_PACKAGE: { readonly name: string; readonly isPublished: boolean } = {
  name: 'mcp-proxy-daemon',
  isPublished: false,
}

/**
 * Returns the npm arguments that install the package: from the registry or, if unpublished, as a copy of
 * `folder`. Scripts are skipped, because the folder is built.
 */
export const installCommand = (folder: string, { name, isPublished } = OWN_PACKAGE): readonly string[] =>
  isPublished ? [name] : ['--ignore-scripts', '--install-links', folder]
