import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { packageFile } from '../../machine/package-file.js'
import { configOption, defineVerb, textOption } from '../verb.js'

/** For the help: bin/mcp-proxy.js runs the shim itself, which is a file of its own (src/shim/). */
export const connect = defineVerb({
  usage: 'connect',
  isService: true,
  describe: 'Serve a client on stdin and stdout from the daemon, which is started where there is none',
  flags: {
    config: configOption,
    view: textOption('The view that the client gets'),
    workspace: textOption('The folder that the client works in'),
    client: textOption('What the client is called in the status'),
    'no-fallback': {
      type: 'boolean',
      describe: 'Fail where there can be no daemon, in place of serving alone',
    },
    verbose: { type: 'boolean', describe: 'Say on stderr what happens' },
  },
  examples: [
    ['mcp-proxy connect --config mcp.json', 'What a client starts: all of them share one daemon'],
    ['mcp-proxy connect --client cursor --workspace .', 'With the name and the folder that the status shows'],
    ['mcp-proxy connect --no-fallback --verbose', 'To see why there is no daemon'],
  ],
  run() {
    createRequire(import.meta.url)(fileURLToPath(packageFile('bin/connect.cjs')))
    // It ends the process by itself.
    return new Promise(() => undefined)
  },
})
