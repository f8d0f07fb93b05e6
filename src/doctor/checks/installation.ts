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
  damaged.length === 0 ? [] : [finding('D002', { folder }, { why: damaged.join(', ') })]

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
  const why = first.package === undefined ? undefined : `it belongs to the package ${first.package}`
  const own = onPath.find(each => each.package === PACKAGE)?.path ?? `${folder}/bin/mcp-proxy.js`
  return [finding('D005', { path: first.path, own }, { why })]
}

export const lookAtState = ({ state, platform }: InstallationFacts): readonly Finding[] => {
  const { path, mode, isOurs, isWritable, freeBytes } = state
  const about = { what: 'cannot write', path }
  if (!isOurs) {
    const why = 'it is a link or a file, or belongs to another user'
    return [finding('D006', about, { subject: path, why, fix: `sudo chown -R "$(id -un)" ${path}` })]
  }
  if (!isWritable)
    return [
      finding('D006', about, {
        subject: path,
        why: 'it, or a part of its path, is a file or may not be written',
        fix: 'make it a folder of your own',
      }),
    ]
  if (freeBytes !== undefined && freeBytes < LEAST_FREE_BYTES) {
    const why = `only ${Math.floor(freeBytes / 1024 / 1024)} MB are free there`
    return [finding('D006', about, { subject: path, why, fix: 'make room on that disk' })]
  }
  if (platform === 'win32' || mode === undefined || (mode & OTHERS) === 0) return []
  const why = 'others of this machine may look into it'
  const autoFix = { is: 'rights', path, mode: 0o700 } as const
  return [finding('D006', { what: 'others can read', path }, { subject: path, why, autoFix, level: 'warn' })]
}
