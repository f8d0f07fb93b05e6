import type { InstanceRecord } from '../../state/instance.js'
import { print } from '../shared/output/output.js'
import { askRunning, chooseRunning, pidOption, severalRun } from '../shared/running.js'
import { configOption, defineVerb, EXIT, jsonOption } from '../shared/verb.js'

/** `origin` is absent in older versions. */
interface Answer {
  readonly origin?: string
  readonly code: string
}

export const ui = defineVerb({
  usage: 'ui',
  describe:
    'Open the page of the proxy in the browser, or print a link that is valid for one minute; starts the daemon if necessary',
  flags: {
    config: configOption,
    pid: pidOption,
    print: { type: 'boolean', describe: 'Only print the address' },
    json: jsonOption,
  },
  examples: [
    ['mcp-proxy ui', 'Opens the page in the browser'],
    ['mcp-proxy ui --print', 'Its address, for another browser'],
    ['mcp-proxy ui --config mcp.json', 'The page of one of several proxies'],
  ],
  async run({ config, pid, print: isPrinted = false, json = false }) {
    const one = await runningOrStarted(config, pid)
    const { origin, code } = JSON.parse(await askRunning(one, '/v1/ui', '{}')) as Answer
    const page = new URL(`${origin ?? one.url?.replace(/\/mcp$/, '') ?? ''}/ui/#${code}`)
    print(json ? JSON.stringify({ version: 1, url: page.href }) : page.href)
    if (isPrinted) return EXIT.ok
    const { showPage } = await import('../../app/show-page.js')
    await showPage(page, process.stdout.isTTY)
    return EXIT.ok
  },
})

/** Returns the selected running proxy, or starts the daemon of the configuration. */
const runningOrStarted = async (
  config: string | undefined,
  pid: string | undefined,
): Promise<InstanceRecord> => {
  const { one, all } = await chooseRunning(config, pid)
  if (one !== undefined) return one
  if (all.length > 0) throw severalRun(all)
  const { daemonPlace, startedDaemon } = await import('../shared/daemon-place.js')
  const daemon = daemonPlace(config)
  const { socket, token } = daemon.place
  await startedDaemon(daemon, false)
  return { verb: 'serve', config: daemon.file, socket, token } as InstanceRecord
}
