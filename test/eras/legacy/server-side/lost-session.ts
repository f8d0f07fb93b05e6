import t from 'tap'
import {
  type AnswerToUs,
  answerIn,
  lossText,
  sessionLossIn,
} from '../../../../src/eras/legacy/server-side/lost-session.js'
import type { HttpRefusal } from '../../../../src/rpc/http/refusal.js'

const refusal = (
  status: number,
  text = '',
  more: { readonly statusText?: string; readonly headers?: Record<string, string> } = {},
): HttpRefusal => ({ status, statusText: '', headers: {}, text, ...more })

const WORKED = { hasId: true, hasWorked: true }
const CHALLENGE = { headers: { 'www-authenticate': 'Bearer' } }
const error = (code: number, message: string): AnswerToUs => ({ code, message })

/** Statuses that mean the loss without a text. */
const isCertain = ({ status }: HttpRefusal): boolean => [401, 404, 410].includes(status)

t.test('refusals that name the session mean its loss', t => {
  const lost: [HttpRefusal, AnswerToUs?][] = [
    [refusal(404)],
    [refusal(410)],
    [
      refusal(
        404,
        '{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}',
      ),
    ],
    [refusal(404, '', CHALLENGE)],
    [
      refusal(
        400,
        '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"No valid session ID provided"}}',
      ),
    ],
    [refusal(400, 'Bad Request: Server not initialized')],
    [refusal(400, 'server has not been initialized')],
    [refusal(400, '', { statusText: 'Unknown Session' })],
    [refusal(401)],
    [refusal(401, 'Unauthorized: Session not found')],
    [refusal(403, '{"error":"SESSION_EXPIRED"}')],
    [refusal(409, '{"detail":"invalid Mcp-Session-Id"}')],
    [refusal(422, 'sessionId is unknown')],
    [refusal(440, 'Session timeout')],
    [refusal(503, '<title>No such session on this node</title>')],
    [refusal(404), error(-32001, 'no')],
    [refusal(400), error(-32000, 'Bad Request: Mcp-Session-Id header is required')],
  ]
  for (const [one, answer] of lost)
    t.equal(sessionLossIn(one, WORKED, answer), isCertain(one) ? 'certain' : 'named', lossText(one))
  t.end()
})

t.test('other refusals leave the session as it is', t => {
  const kept: [HttpRefusal, AnswerToUs?][] = [
    [refusal(400, 'city is required')],
    [refusal(401, 'session expired', CHALLENGE)],
    [refusal(403)],
    [refusal(413, 'session too large')],
    [refusal(429, 'too many sessions')],
    [refusal(500, 'session store failed')],
    [refusal(502, 'no session')],
    [refusal(503)],
    [refusal(503, '<script>sessionStorage.clear()</script><title>Maintenance</title>')],
    [refusal(400), error(-32602, 'Unknown session_id')],
    [refusal(400), error(-32603, 'session store failed')],
    [refusal(404), error(-32602, 'no such tool')],
    [refusal(404), 'result'],
    [refusal(500), error(-32000, 'Browser session crashed')],
    [refusal(429), error(-32000, 'Too many sessions')],
    [refusal(401, '', CHALLENGE), error(-32001, 'Session expired')],
  ]
  for (const [one, answer] of kept) t.equal(sessionLossIn(one, WORKED, answer), 'none', lossText(one))
  t.end()
})

t.test('a session that never worked, or has no id, is lost only if the server is certain', t => {
  const fresh = { hasId: true, hasWorked: false }
  t.equal(sessionLossIn(refusal(404), fresh), 'certain')
  t.equal(sessionLossIn(refusal(400, 'no session'), fresh), 'none')
  t.equal(sessionLossIn(refusal(400), fresh), 'none')
  t.equal(sessionLossIn(refusal(401), fresh), 'none')
  t.equal(sessionLossIn(refusal(404), fresh, error(-32001, 'Session not found')), 'certain')
  t.equal(sessionLossIn(refusal(400), fresh, error(-32000, 'No session')), 'none')
  const nameless = { hasId: false, hasWorked: true }
  t.equal(sessionLossIn(refusal(404), nameless), 'none')
  t.equal(sessionLossIn(refusal(401), nameless), 'none')
  t.equal(sessionLossIn(refusal(400), nameless), 'none')
  t.equal(sessionLossIn(refusal(400, 'Server not initialized'), nameless), 'named')
  t.end()
})

t.test('a 400 without a reason may mean a lost session', t => {
  for (const text of ['', ' \n']) t.equal(sessionLossIn(refusal(400, text), WORKED), 'unexplained')
  t.end()
})

t.test('an answer counts under the id of the request only', t => {
  const body = (id: unknown, rest: object) => Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, ...rest }))
  const failure = { error: { code: -32000, message: 'no session' } }
  t.same(answerIn(body(7, failure), 7), { code: -32000, message: 'no session' })
  t.same(answerIn(body('7', failure), 7), { code: -32000, message: 'no session' })
  t.equal(answerIn(body(null, failure), 7), 'none')
  t.equal(answerIn(body(8, failure), 7), 'none')
  t.equal(answerIn(body(7, { result: {} }), 7), 'result')
  t.equal(answerIn(Buffer.from('<html>'), 7), 'none')
  t.end()
})
