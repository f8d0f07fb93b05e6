import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openPage } from '../../../src/transport/process/open-page.js'
import { isWindows, until } from '../../support/processes.js'
import { setEnv } from '../../support/proxy/start.js'

const URL_WITH_SECRETS = new URL('http://127.0.0.1:9/authorize?a=\\&state=secret-1234&b="<#code-5678')

const temporary = (folder: string) => ({ TMPDIR: folder, TMP: folder, TEMP: folder })

t.test('no argument of a browser holds the address; only its user can read the file', async t => {
  const folder = t.testdir()
  const seen = join(folder, 'argv.json')
  setEnv(t, temporary(folder))
  const script = `fs.writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.argv))`
  const opened = await openPage([process.execPath, '-e', script], URL_WITH_SECRETS)
  await until(async () => existsSync(seen) && readFileSync(seen, 'utf8').endsWith(']'), 'the browser')
  const text = readFileSync(seen, 'utf8')
  t.notMatch(text, /secret-1234|code-5678/)
  const file: string = JSON.parse(text).at(-1)
  const page = readFileSync(file, 'utf8')
  t.equal(JSON.parse(/replace\((.*?)\)<\/script>/.exec(page)?.[1] ?? ''), URL_WITH_SECRETS.href)
  t.equal(/0;url=(.*?)"/.exec(page)?.[1]?.replaceAll('&amp;', '&'), URL_WITH_SECRETS.href)
  if (!isWindows) {
    t.equal(statSync(file).mode & 0o777, 0o600)
    t.equal(statSync(join(file, '..')).mode & 0o777, 0o700)
  }
  await opened?.close()
  t.same(readdirSync(folder), ['argv.json'], 'the file is removed after its use')
})

t.test('nothing is left of a page whose browser cannot be started', async t => {
  const folder = t.testdir()
  setEnv(t, temporary(folder))
  t.equal(await openPage([join(folder, 'nobody')], URL_WITH_SECRETS), undefined)
  t.same(readdirSync(folder), [])
  setEnv(t, temporary(join(folder, 'missing')))
  t.equal(await openPage([process.execPath, '-e', ''], URL_WITH_SECRETS), undefined)
})
