// Runs commands of the conformance suite for suite.mjs, its parent: `node suite-commands.mjs FILE`. A message
// has the arguments and variables of a command, the answer is what the command printed.
import { pathToFileURL } from 'node:url'

const { program } = await import(pathToFileURL(process.argv[2]).href)
const own = { ...process.env }

/** Thrown where the suite would end its process. */
class Ended extends Error {}

const run = async ({ args, env }) => {
  process.env = { ...own, ...env }
  let printed = ''
  let output
  const write = chunk => {
    printed += chunk
    return true
  }
  Object.assign(process.stdout, { write })
  Object.assign(process.stderr, { write })
  process.exit = () => {
    // It catches all errors, reports them, and ends again.
    output ??= printed
    throw new Ended()
  }
  try {
    await program.parseAsync(args, { from: 'user' })
  } catch (thrown) {
    if (!(thrown instanceof Ended)) write(`${thrown?.stack ?? thrown}\n`)
  }
  return output ?? printed
}

process.on('message', async command => process.send(await run(command)))
process.once('disconnect', () => process.kill(process.pid))
