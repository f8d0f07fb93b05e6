// A server of both eras for the official conformance suite: each client gets that of its own, and in that of
// 2026-07-28 nobody is asked anything, as by servers that only know how to push questions. `node
// dual-server.mjs` on stdio, `node dual-server.mjs http` on a free port (printed on the first line), or
// `http PATH` on a local socket.
import { serveHttp } from './content.mjs'
import * as modern from './modern-server.mjs'
import * as legacy from './server.mjs'

const VERSION = 'io.modelcontextprotocol/protocolVersion'

/** The body says of which era a message is. */
const isModern = body => body.length > 0 && JSON.parse(body).params?._meta?.[VERSION] !== undefined

function createHandler() {
  const [ofOld, ofNew] = [legacy.createHandler(), modern.createHandler(false)]
  return async (request, response) => {
    const body = Buffer.concat(await request.toArray())
    if (isModern(body)) await ofNew(request, response, body)
    else await ofOld(request, response, body.length > 0 ? JSON.parse(body) : undefined)
  }
}

if (process.argv[2] === 'http') serveHttp(createHandler(), process.argv[3])
else
  modern.serveOnStdio('serve', ({ era }) =>
    era === 'legacy' ? legacy.createFixture() : modern.createFixture(false),
  )
