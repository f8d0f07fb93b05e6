import { print } from '../output/output.js'
import { askRunning, pidOption, runningName, theRunning } from '../running.js'
import { CliError, configOption, defineVerb, EXIT, jsonOption } from '../verb.js'

export const ui = defineVerb({
  usage: 'ui',
  describe:
    'Open the page of a running proxy in the browser, or print its address, which is good for a minute',
  flags: {
    config: configOption,
    pid: pidOption,
    print: { type: 'boolean', describe: 'Only print the address' },
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy ui', 'What the proxy does, in the browser'],
    ['mcp-proxy ui --print', 'Its address, for another browser'],
    ['mcp-proxy ui --config mcp.json', 'The page of one of several proxies'],
  ],
  async run({ config, pid, print: isPrinted = false, json = false }) {
    const one = await theRunning(config, pid)
    if (one.url === undefined)
      throw new CliError(EXIT.failure, `${runningName(one)} listens on no port: set "listen", or use serve`)
    const { status } = await fetch(new URL('/ui/', one.url))
    if (status === 403)
      throw new CliError(EXIT.failure, `the page of ${runningName(one)} is on loopback only`, {
        why: 'it listens where other machines reach it, and there is no "auth"',
        mend: 'mcp-proxy serve --host 127.0.0.1',
      })
    const { code } = JSON.parse(await askRunning(one, '/v1/ui', '{}')) as { code: string }
    const page = new URL(`/ui/#${code}`, one.url)
    print(json ? JSON.stringify({ version: 1, url: page.href }) : page.href)
    if (isPrinted) return EXIT.ok
    const { showPage } = await import('../../app/show-page.js')
    await showPage(page, process.stdout.isTTY)
    return EXIT.ok
  },
})
