import t from 'tap'
import { tokenHash } from '../../../src/kernel/secrets/personal-token.js'
import { configFile, runHere, tiny } from '../../support/proxy/start.js'

t.test('auth token prints a token once, and the line that the file gets', async t => {
  const { code, out, err } = await runHere(t, 'auth', 'token', 'alice')
  t.match({ code, err }, { code: 0, err: '' })
  const [token = ''] = /^mcpp_[\w-]{43}(?=\s)/.exec(out) ?? []
  t.match(out, /give it to alice/)
  const line = /^Add to the file: {2}(.*)$/m.exec(out)?.[1]
  t.same(JSON.parse(`{${line}}`), {
    auth: { people: { alice: { tokens: [{ hash: `sha256:${tokenHash(token)}` }] } } },
  })
  const again = await runHere(t, 'auth', 'token', 'alice')
  t.not(again.out, out)
})

t.test('auth token needs a name of one word', async t => {
  t.match(await runHere(t, 'auth', 'token'), { code: 2, err: /token needs the name of a user or program/ })
  t.match(await runHere(t, 'auth', 'token', 'a b'), { code: 2, err: /one word/ })
})

t.test('auth login reports unknown servers and servers without a login', async t => {
  const config = configFile(t, { linear: { url: 'https://mcp.linear.app/mcp', oauth: false }, tiny: tiny() })
  const logIn = (name: string) => runHere(t, 'auth', 'login', name, '--config', config)
  t.match(await logIn('linea'), { code: 2, err: /there is no server linea; did you mean linear\?/ })
  t.match(await logIn('tiny'), { code: 2, err: /tiny does not take a login: it is a program/ })
  t.match(await logIn('linear'), { code: 2, err: /its login is turned off/ })
  t.match(await logIn('http://127.0.0.1:1/mcp'), { code: 4 }, 'an address is a server too')
  const soon = await runHere(t, 'auth', 'login', 'linear', '--timeout', 'soon', '--config', config)
  t.match(soon, { code: 2, err: /--timeout must be a duration/ })
})

t.test('auth approve reports that no sign-in has the code', async t => {
  t.match(await runHere(t, 'auth', 'approve', 'K7QX2MPA'), { code: 1, err: /\S/ })
})
