import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** Creates an authority, and certificates signed by it, with openssl. */
export const createAuthority = (t: Test) => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-proxy-certificates-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const at = (name: string): string => join(folder, name)
  const openssl = (...args: string[]): void => {
    execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  }
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
    '-days',
    '2',
    '-subj',
    '/CN=Test CA',
  )
  /** Issues a certificate for a host name or address. */
  const issue = (name: string, san = `DNS:${name}`) => {
    openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`)
    writeFileSync(at(`${name}.ext`), `subjectAltName=${san}\n`)
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', `${name}.ext`]
    openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, '-days', '2', ...signed)
    const [cert, key] = [at(`${name}.pem`), at(`${name}.key`)]
    return { files: { cert, key }, cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  }
  return { folder, openssl, issue, file: at('ca.pem'), ca: readFileSync(at('ca.pem'), 'utf8') }
}
