import type { InstallationFacts } from '../facts.js'
import { type Finding, finding } from '../finding.js'

/** The package of ours, and the folder that holds it (see `package.json`). */
const PACKAGE = 'mcp-proxy-daemon'
const OTHERS = 0o077
const LEAST_FREE_BYTES = 100 * 1024 * 1024

/** As `engines` of package.json says. */
const isSupported = (version: string): boolean => {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  if (major === 20) return minor >= 19
  return major === 22 ? minor >= 12 : major > 22
}

export const lookAtNode = ({ node }: InstallationFacts): readonly Finding[] =>
  isSupported(node) ? [] : [finding('D001', { version: node.replace(/^v/, '') })]

export const lookAtFiles = ({ folder, damaged }: InstallationFacts): readonly Finding[] =>
  damaged.length === 0 ? [] : [finding('D002', { folder, why: damaged.join(', ') })]

export const lookAtDoubleInstalls = ({ folder, onPath }: InstallationFacts): readonly Finding[] => {
  const ours = onPath.filter(each => each.package === PACKAGE)
  const folders = [...new Set(ours.map(each => each.folder))]
  const [first] = ours
  const other = ours.find(each => each.folder !== (first?.folder ?? folder))
  if (first === undefined || other === undefined || folders.length < 2) return []
  return [finding('D004', { one: first.path, other: other.path })]
}

export const lookAtNamesakes = ({ onPath, folder }: InstallationFacts): readonly Finding[] => {
  const [first] = onPath
  if (first === undefined || first.package === PACKAGE) return []
  const own = onPath.find(each => each.package === PACKAGE)?.path ?? `${folder}/bin/mcp-proxy.js`
  const { package: name, path } = first
  return [
    name === undefined
      ? finding('D005', { path, own })
      : finding('D005.package', { path, own, package: name }),
  ]
}

export const lookAtState = ({ state, platform }: InstallationFacts): readonly Finding[] => {
  const { path, mode, isOurs, isWritable, freeBytes } = state
  const about = { subject: path }
  if (!isOurs) return [finding('D006.foreign', { path }, about)]
  if (!isWritable) return [finding('D006.blocked', { path }, about)]
  if (freeBytes !== undefined && freeBytes < LEAST_FREE_BYTES)
    return [finding('D006.full', { path, megabytes: Math.floor(freeBytes / 1024 / 1024) }, about)]
  if (platform === 'win32' || mode === undefined || (mode & OTHERS) === 0) return []
  return [finding('D006.open', { path }, { ...about, autoFix: { is: 'rights', path, mode: 0o700 } })]
}
