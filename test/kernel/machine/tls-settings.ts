import t from 'tap'
import { isCertificateCode } from '../../../src/kernel/machine/tls-settings.js'

t.test('certificate errors are recognized by their codes', async t => {
  for (const code of [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_GET_ISSUER_CERT',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'CERT_UNTRUSTED',
    'INVALID_CA',
    'INVALID_PURPOSE',
    'PATH_LENGTH_EXCEEDED',
  ])
    t.ok(isCertificateCode(code), code)
  for (const code of ['', 'ECONNREFUSED', 'ERR_INVALID_URL', 'INVALID_CALL', 'EPROTO'])
    t.notOk(isCertificateCode(code), code)
})
