// What fails through the proxy although a fixture or client of the era passes it directly, by run and
// scenario, each with its reason. What passes again is to be taken out: `npm run conformance` says so.
const ACROSS = {
  'server-stateless': 'a server with a handshake cannot say which capability of a client it misses',
  'input-required-result-basic-elicitation':
    'a server with a handshake gives its questions no names: they are ours',
}
const TRIED =
  'the server is asked with `initialize` whether it speaks the era of the client as well, and that is no request of its era'

export const EXPECTED = {
  '2026-07-28, legacy server, through us, on stdio': ACROSS,
  '2026-07-28, legacy server, through us, over HTTP': ACROSS,
  '2026-07-28, legacy client behind us, as the client': {
    'request-metadata': TRIED,
    'http-standard-headers': TRIED,
  },
}
