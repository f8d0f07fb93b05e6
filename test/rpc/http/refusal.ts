import t from 'tap'
import { reasonIn, statedIn } from '../../../src/rpc/http/refusal.js'

const reasonOf = (text: string, type = 'text/html'): string | undefined =>
  reasonIn({ status: 500, statusText: '', headers: { 'content-type': type }, text })

t.test('the reason of a page is its title, or else its heading', t => {
  t.equal(reasonOf('<html><title lang="en">No such tenant</title><h1>Oops</h1></html>'), 'No such tenant')
  t.equal(reasonOf('<title>Error</title><h1 class="a">Oops</h1>'), 'Oops')
  t.end()
})

t.test('a page that asks for a client certificate is recognized', t => {
  const formOf = (status: number, text: string) =>
    statedIn({ status, statusText: '', headers: { 'content-type': 'text/html' }, text })
  const reason = '400 No required SSL certificate was sent'
  t.same(formOf(400, `<title>${reason}</title><center>nginx</center>`), { reason, remote: 'certificate' })
  t.match(formOf(400, '<title>400 The SSL certificate error</title>nginx'), { remote: 'certificate' })
  t.match(formOf(403, '<h2>403.7 - Client certificate required</h2>'), { remote: 'certificate' })
  t.match(formOf(401, '{"message":"No required TLS certificate was sent"}'), { remote: 'certificate' })
  t.match(formOf(400, '<title>400 Bad Request</title>nginx'), { remote: 'gateway' })
  t.end()
})

t.test('a page or text that is meant to take long is read in linear time', t => {
  const before = process.cpuUsage()
  for (const part of ['<title', '<h1 ', '<', '&#', '"message":', ' ', 'data:', '[']) {
    for (const type of ['text/html', 'application/json', 'text/plain'])
      t.doesNotThrow(() => reasonOf(part.repeat(64 * 1024).slice(0, 128 * 1024), type))
  }
  t.ok(process.cpuUsage(before).user < 2_000_000, 'of our time, whatever else the machine does')
  t.end()
})
