import t, { type Test } from 'tap'
import type { ToolSwitchesView } from '../../../src/control/api/tool-switches.js'
import { until } from '../../support/processes.js'
import { logInPage } from '../../support/proxy/page-login.js'
import { runHere, startBin } from '../../support/proxy/start.js'
import { toolRulesFile } from '../../support/proxy/tool-rules.js'

const start = async (t: Test) => {
  const { file, before, text } = toolRulesFile(t, { start: 'eager' })
  startBin(t, ['serve', '--port', '0', '--config', file])
  const run = (...words: string[]) => runHere(t, ...words, '--config', file)
  await until(async () => (await run('status')).code === 0, 'the proxy')
  t.match(await run('call', 'g__echo', 'n=1'), { code: 0 })
  const { origin, hash } = new URL(JSON.parse((await run('ui', '--print', '--json')).out).url)
  const { headers: page } = await logInPage(origin, hash.slice(1))
  const send = async (path: string, options: RequestInit = {}) => {
    const headers = { ...page, origin }
    const response = await fetch(`${origin}/api/v1/servers/${path}`, { headers, ...options })
    return { status: response.status, body: await response.json() }
  }
  const post = (path: string, headers: Record<string, string> = { ...page, origin }) =>
    send(path, { method: 'POST', headers, body: '{}' })
  const tools = async (server: string) => (await send(`${server}/tools`)).body as ToolSwitchesView
  const find = async (server: string, own: string) => (await tools(server)).tools.find(one => one.own === own)
  return { run, page, origin, post, tools, find, before, text }
}

t.test(
  'a tool is switched over the control API: the file keeps its comments, and clients follow',
  async t => {
    const { run, post, tools, find, before, text, page, origin } = await start(t)
    t.match(await tools('gh'), { canSwitch: true })
    t.match(await find('gh', 'echo'), { name: 'g__echo', isEnabled: true, why: undefined })

    await t.test('a request without both halves of the credential changes nothing', async t => {
      const { 'x-mcp-proxy-secret': _, ...noSecret } = { ...page, origin }
      const { cookie: __, ...noCookie } = { ...page, origin }
      t.equal((await post('gh/tools/echo/disable', noSecret)).status, 401)
      t.equal((await post('gh/tools/echo/disable', noCookie)).status, 401)
      t.equal((await post('gh/tools/echo/disable', { ...page })).status, 403, 'without an origin')
      t.equal(text(), before)
    })

    await t.test('disable and enable', async t => {
      t.match(await post('gh/tools/echo/disable'), { status: 200 })
      t.match(text(), /"gh": \{ .*"tools": \{ "deny": \["echo"\] \} \}, \/\/ main/)
      t.match(await find('gh', 'echo'), { isEnabled: false, why: undefined }, 'it stays on the list')
      t.not((await run('call', 'g__echo', 'n=1')).code, 0)
      t.match(await post('gh/tools/echo/disable'), { status: 200 }, 'a second time')
      t.match(await post('gh/tools/echo/enable'), { status: 200 })
      t.equal(text().replace(', "tools": { "deny": [] }', ''), before)
      t.match(await run('call', 'g__echo', 'n=1'), { code: 0 })
      t.match(await find('fig', 'fail'), { isEnabled: false, why: undefined })
      t.match(await post('fig/tools/fail/enable'), { status: 200 })
      t.match(await find('fig', 'fail'), { isEnabled: true })
      t.match(text(), '"ref*"')
    })

    await t.test('tools that other rules hide, and unknown ones, are refused with the reason', async t => {
      const left = text()
      const pattern = /the pattern "ref\*" in tools\.deny of fig hides refuse/
      t.match(await find('fig', 'refuse'), { isEnabled: false, why: pattern })
      t.match(await post('fig/tools/refuse/enable'), { status: 400, body: { error: pattern } })
      const list = /tools\.allow of few does not list facts/
      t.match(await find('few', 'facts'), { isEnabled: false, why: list })
      t.match(await post('few/tools/facts/enable'), { status: 400, body: { error: list } })
      const rows: [path: string, error: RegExp][] = [
        ['gh/tools/nothing/disable', /Unknown tool: nothing/],
        ['gh/tools/*/disable', /Unknown tool: \*/],
        ['none/tools/echo/disable', /Unknown server: none/],
        ['gh/tools/%ff/disable', /bad path/],
      ]
      for (const [path, error] of rows) t.match(await post(path), { status: 400, body: { error } }, path)
      t.equal((await post('gh/tools/echo/remove')).status, 404)
      t.equal(text(), left)
    })
  },
)
