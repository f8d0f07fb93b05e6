// Runs scripts of package.json at the same time, and shows what each printed when it is over; exits with 1 if
// one failed. To be run by npm: node test/at-once.js SCRIPT …
import { spawn } from 'node:child_process'

const run = script =>
  new Promise(resolve => {
    const child = spawn(process.execPath, [process.env.npm_execpath, 'run', script])
    const printed = []
    child.stdout.on('data', chunk => printed.push(chunk))
    child.stderr.on('data', chunk => printed.push(chunk))
    child.once('close', code => {
      process.stdout.write(Buffer.concat(printed))
      resolve(code === 0)
    })
  })

const all = await Promise.all(process.argv.slice(2).map(run))
process.exitCode = all.every(isGood => isGood) ? 0 : 1
