import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { packageFile } from '../../kernel/machine/package-file.js'
import { configOption, defineVerb, textOption } from '../shared/verb.js'

/** Exists for the help: bin/mcp-proxy.js runs the shim, a separate file (src/shim/), itself. */
export const connect = defineVerb({
  usage: 'connect',
  isService: true,
  describe: 'Connect a client on stdin and stdout to the daemon, starting the daemon if needed',
  flags: {
    config: configOption,
    view: textOption('The view that the client gets'),
    workspace: textOption('The folder that the client works in'),
    client: textOption('The name of the client in the status'),
    'no-fallback': {
      type: 'boolean',
      describe: 'Fail without a daemon instead of serving alone',
    },
    verbose: { type: 'boolean', describe: 'Log each step to stderr' },
  },
  examples: [
    ['mcp-proxy connect --config mcp.json', 'For a client configuration; clients share one daemon'],
    ['mcp-proxy connect --client cursor --workspace .', 'With a name and folder for the status'],
    ['mcp-proxy connect --no-fallback --verbose', 'Shows why the daemon cannot be used'],
  ],
  run() {
    createRequire(import.meta.url)(fileURLToPath(packageFile('bin/connect.cjs')))
    // The shim ends the process itself.
    return new Promise(() => undefined)
  },
})
