import t from 'tap'
import { configFile, rawServer, runHere, tiny } from '../../support/proxy/start.js'

t.test('call prints what a tool says, and arguments reach it as they were written', async t => {
  const file = configFile(t, { one: tiny(), never: tiny('--slow', '60000') })
  const call = async (...argv: string[]) => {
    return await runHere(t, 'call', '--config', file, ...argv)
  }
  t.same(
    await call(
      'one__echo',
      'n=12345678901234567890',
      's=007',
      'list=[1, 2.0]',
      'flag=true',
      '--args',
      '{"n": 1, "z": 1e400}',
    ),
    {
      code: 0,
      out: '{"n": 12345678901234567890, "z": 1e400,"s":"007","list":[1, 2.0],"flag":true}\n',
      err: '',
    },
    'and a server that cannot have the tool is not waited for',
  )
  t.same(await call('one__fail'), { code: 1, out: 'it did not work\n', err: '' })
  t.match(await call('one__refuse'), {
    code: 4,
    out: '',
    err: /The server answered with an error: not like this/,
  })
  t.same(await call('one__picture'), {
    code: 0,
    out: '{"seen":true}\n',
    err: '[image image/png 3 bytes; --json shows all of it]\n',
  })
  t.equal(
    (await call('one__picture', '--json')).out,
    '{"version":1,"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}],"structuredContent":{"seen":true}}\n',
  )
  t.match(await call('one__fail', '--json'), { code: 1, out: /"isError":true/ })
  t.match(await call('one__ecko'), {
    code: 2,
    out: '',
    err: /there is no tool one__ecko; did you mean one__echo\?/,
  })
  t.match(await call('one__strict', 'color=red'), {
    code: 2,
    err: /no argument "color"; did you mean colour\?/,
  })
})

t.test('a name that no server could have is looked for in all of them', async t => {
  const file = configFile(t, { one: tiny(), dead: tiny('--die') })
  t.match(await runHere(t, 'call', 'onne__echo', '--config', file), {
    code: 2,
    err: /there is no tool onne__echo; did you mean one__echo\?/,
  })
})

t.test('call ends with 4 and the reason when the server of the tool cannot be reached', async t => {
  const file = configFile(t, { one: tiny(), dead: tiny('--die') })
  t.match(await runHere(t, 'call', 'dead__x', '--config', file), {
    code: 4,
    err: /Server dead is not reachable: exited with code 3/,
  })
})

t.test('a name like no other gets no suggestion but the list', async t => {
  const file = configFile(t, { one: tiny() })
  t.match(await runHere(t, 'call', 'one__zzzzzzzzzzzz', '--config', file), {
    code: 2,
    err: /the servers have 6 tools, and none has this name[\s\S]*mcp-proxy list/,
  })
})

t.test('on a terminal the progress of a tool is shown, and else nothing of it', async t => {
  const file = configFile(t, { raw: rawServer() })
  const call = () =>
    runHere(t, 'call', 'raw__progress', '--args', '{"values":[1,2],"tag":"step"}', '--config', file)
  t.equal((await call()).err, '')
  const { isTTY } = process.stderr
  t.teardown(() => Object.assign(process.stderr, { isTTY }))
  Object.assign(process.stderr, { isTTY: true })
  t.match((await call()).err, /\[1\] step\n\[2\] step$/m)
})
