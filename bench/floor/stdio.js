// The floor on stdio in front of a remote server: each line is a POST, each answer a line.
// Usage: node stdio.js URL
import { lines, placeOfId } from './pipe.js'
import { Remote } from './remote.js'

const remote = new Remote(process.argv[2])
const NEWLINE = Buffer.from('\n')
const put = (...pieces) => process.stdout.write(Buffer.concat([...pieces, NEWLINE]))

const post = line => {
  const place = placeOfId(line)
  if (place === undefined) remote.notice(line)
  else remote.request(line, place, put, put)
}

process.stdin.on('data', lines(post))
process.stdin.on('end', () => process.exit(0))
process.on('SIGTERM', () => process.exit(0))
