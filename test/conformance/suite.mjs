// Starts the program of the official conformance suite, which reads its packages for longer than most of its
// scenarios take: it is joined into one file, and one process runs several commands after one another.
import { fork } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../..', import.meta.url))
const SUITE = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const JOINED = join(root, '.tap/conformance/suite.mjs')
const ENTRY = join(root, 'test/conformance/entry')
const COMMANDS = fileURLToPath(new URL('./suite-commands.mjs', import.meta.url))

/**
 * The suite imports `globSync` from node:fs, which came with Node 22; no scenario that runs here calls it. It
 * reads its command line as soon as it is loaded: `program` is what reads it later.
 */
const REPLACED = {
  fs: `export * from 'node:fs'; export const globSync = () => []`,
  commander: `
    import { Command as Original, Option } from 'commander'
    export { Option }
    export let program
    export class Command extends Original {
      parse() { program = this }
    }`,
}

const replacing = {
  name: 'replacing',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^(fs|commander)$/ }, ({ path, importer }) =>
      [SUITE, ENTRY].includes(importer) ? { path, namespace: 'replaced' } : undefined,
    )
    onLoad({ filter: /./, namespace: 'replaced' }, ({ path }) => ({
      contents: REPLACED[path],
      resolveDir: join(SUITE, '..'),
    }))
  },
}

/** Joins the modules of the suite into one file, beside which it still finds its own data. */
export const joinSuite = () => {
  const url = JSON.stringify(pathToFileURL(SUITE).href)
  return build({
    stdin: {
      contents: `import ${JSON.stringify(SUITE)}\nexport { program } from 'commander'`,
      resolveDir: root,
      sourcefile: ENTRY,
    },
    bundle: true,
    outfile: JOINED,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    define: { 'import.meta.url': url },
    banner: { js: `import { createRequire } from 'node:module'\nconst require = createRequire(${url})` },
    plugins: [replacing],
    logLevel: 'error',
  })
}

/** A process of the suite; it runs one command at a time. */
const startProcess = () => {
  const child = fork(COMMANDS, [JOINED], { cwd: root })
  return {
    run: (args, env) =>
      new Promise((resolve, reject) => {
        const onExit = code => reject(new Error(`the suite ended with ${code} at ${args.join(' ')}`))
        child.once('exit', onExit)
        child.once('message', output => {
          child.off('exit', onExit)
          resolve(output)
        })
        child.send({ args, env })
      }),
    end: () => child.kill(),
  }
}

/**
 * Returns how to run commands of the suite, which resolve with what they print, and how to end its processes.
 * None may run the same scenario twice: scenarios keep what they saw.
 */
export const openSuite = () => {
  const started = []
  const idle = []
  const take = () => {
    if (idle.length === 0) {
      idle.push(startProcess())
      started.push(idle[0])
    }
    return idle.pop()
  }
  return {
    run: async (args, env = {}) => {
      const taken = take()
      const output = await taken.run(args, env)
      idle.push(taken)
      return output
    },
    close: () => {
      for (const one of started) one.end()
    },
  }
}
