import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { COVERED_QUESTIONS } from './play/covered-questions.js'
import { CHECK_EXCEPTIONS } from './play/exceptions.js'
import { readChecks } from './play/vector.js'

/** Which tests show what a check says: file below test/ and title, or file of vectors and rule. */
const COVERED: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  ...COVERED_QUESTIONS,
  'AT-1': [
    [
      'mux/server-requests/server-requests.ts',
      'of two clients that call at the same time, the one on whose stream it comes is asked',
    ],
    [
      'eras/legacy/server-side/http-caller.ts',
      'a question on the stream of a call says whose it is; its answer is posted',
    ],
  ],
  'AT-4': [['mux/server-requests/server-requests.ts', 'of several calls of one client the latest is taken']],
  'AT-6': [
    [
      'mux/server-requests/server-requests.ts',
      'outside of any call, the only client that ever used the server is asked; a second one ends that',
    ],
    [
      'eras/legacy/client-side/uplink.ts',
      'a question whose call is over, or whose stream takes none, goes the ambient way',
    ],
    [
      'eras/legacy/client-side/http-listener.ts',
      'a question waits 10 s for a stream, then the server hears an error',
    ],
  ],
  'AT-10': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'a client that can be asked gets its calls as streams, so that there is a way to ask',
    ],
    ['scenarios/aggregate.ts', 'a question reaches the client whose call it is, on the stream of that call'],
  ],
  'AT-13': [
    [
      'mux/router.ts',
      'twenty notifications without a change are dropped; with a change they become one, for affected clients',
    ],
    [
      'mux/calls/log-levels.ts',
      'a message that could belong to two clients is dropped, until there is evidence for one',
    ],
  ],
  'CN-5': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'a dropped connection cancels nothing: the answer waits for the resuming client',
    ],
  ],
  'CN-7': [
    [
      'mux/calls/in-flight-call.ts',
      'a silent server times out: it gets a cancellation, and the client an error that names it',
    ],
  ],
  'CN-8': [
    [
      'mux/server-requests/server-requests.ts',
      'when a call is ${how}, the dialogs that came on its stream are taken back',
    ],
    [
      'eras/legacy/client-side/uplink.ts',
      'a question of a call travels on the stream of the call, and is withdrawn there',
    ],
  ],
  'CT-4': [
    [
      'mux/server-requests/server-requests.ts',
      'a client is not asked for what it did not offer: the error names it',
    ],
    ['mux/input-required/client-capabilities.ts', 'a client can be asked what it declared, to the mode'],
  ],
  'CT-7': [
    ['eras/legacy/project/messages.ts', 'a client gets the members of its revision, and unknown ones'],
    [
      'eras/legacy/project/messages.ts',
      'structured output is sent to clients that support it, in the form of their list',
    ],
  ],
  'CT-10': [
    ['eras/legacy/project/messages.ts', 'a client gets the members of its revision, and unknown ones'],
  ],
  'CT-12': [
    ['eras/legacy/project/messages.ts', 'a client gets the members of its revision, and unknown ones'],
  ],
  'CT-13': [
    ['eras/legacy/project/messages.ts', 'a client gets the members of its revision, and unknown ones'],
  ],
  'CT-16': [
    [
      'eras/legacy/project/messages.ts',
      'size, audience and priority are as old as the protocol, lastModified is not',
    ],
  ],
  'CT-17': [
    [
      'eras/legacy/project/messages.ts',
      'size, audience and priority are as old as the protocol, lastModified is not',
    ],
  ],
  'CT-18': [
    [
      'eras/legacy/project/messages.ts',
      'size, audience and priority are as old as the protocol, lastModified is not',
    ],
  ],
  'CT-19': [['vectors/pg.jsonl', 'PG-4']],
  'CT-23': [
    [
      'catalog/capabilities.ts',
      'instructions stand under the alias of their server, in order, cut to a bounded length',
    ],
    [
      'eras/legacy/client-side/uplink.ts',
      'each revision is agreed to, everything else gets the newest as counter-offer',
    ],
  ],
  'CT-24': [
    [
      'eras/legacy/project/schemas.ts',
      'a property that is described by true or false is described by an object',
    ],
  ],
  'CT-25': [['eras/legacy/project/schemas.ts', 'a wrapped schema points to where its parts are now']],
  'CT-31': [
    [
      'catalog/repair/items.ts',
      'what makes clients refuse a list is repaired in the item, and nothing else is touched',
    ],
    ['catalog/repair/items.ts', 'an item that cannot be repaired is dropped, with the reason'],
  ],
  'CT-33': [
    [
      'catalog/repair/items.ts',
      'what makes clients refuse a list is repaired in the item, and nothing else is touched',
    ],
    ['catalog/repair/items.ts', 'a time of modification is a moment that exists, or goes'],
  ],
  'CT-35': [['catalog/repair/results.ts', 'of many completions the first hundred are passed on']],
  'CT-36': [['mux/calls/forward.ts', 'a URI without an owner is not found']],
  'CT-37': [
    ['eras/legacy/project/messages.ts', 'an empty result holds nothing but _meta'],
    [
      'eras/legacy/client-side/uplink.ts',
      'before initialize: ping is answered, requests are refused, the rest is silence',
    ],
  ],
  'DD-15': [
    [
      'eras/legacy/server-side/downlink.ts',
      'the newest revision is offered, any published one is taken, and initialized comes before all else',
    ],
    ['peers/connection.ts', 'all who need a server at the same time share one start'],
  ],
  'ER-1': [
    [
      'eras/legacy/server-side/downlink.ts',
      'an error of the server is repaired where clients would choke on it, and else passed on',
    ],
  ],
  'ER-12': [
    [
      'eras/legacy/server-side/http-caller.ts',
      "a reply without an answer fails the request with its status and the server's reason",
    ],
  ],
  'ER-13': [
    [
      'eras/legacy/server-side/http-caller.ts',
      "a reply without an answer fails the request with its status and the server's reason",
    ],
    ['eras/legacy/client-side/http-listener.ts', 'an error of a call is HTTP 200, so that clients see it'],
  ],
  'ER-14': [
    ['mux/calls/in-flight-call.ts', 'an error of a server reaches the client as it came'],
    ['catalog/repair/results.ts', 'a clean result is the same result, down to the last byte'],
  ],
  'HD-9': [
    [
      'eras/modern/project/messages.ts',
      'an annotation that no client could follow is not shown, and its tool is',
    ],
  ],
  'HD-10': [
    [
      'eras/legacy/server-side/http-caller.ts',
      'the session id and the revision are repeated on every later request that supports them',
    ],
    ['vectors/tr.jsonl', 'TR-5'],
  ],
  'HS-1': [
    ['mux/router.ts', 'a newcomer waits for servers that start, but not longer than the start-up wait'],
    ['mux/router.ts', 'a server that failed to start is listed once it runs, and clients are notified'],
  ],
  'HS-3': [
    [
      'catalog/capabilities.ts',
      'what a server that is still unknown may bring is announced, for it cannot be added later',
    ],
    [
      'catalog/catalog.ts',
      'a server that hangs, fails or is away delays the other lists no longer than the wait',
    ],
  ],
  'HS-4': [
    [
      'catalog/capabilities.ts',
      'instructions stand under the alias of their server, in order, cut to a bounded length',
    ],
  ],
  'HS-5': [
    [
      'eras/legacy/client-side/uplink.ts',
      'each revision is agreed to, everything else gets the newest as counter-offer',
    ],
  ],
  'HS-9': [
    [
      'peers/connection.ts',
      'a server learns who its client is only where the connection is that client’s alone',
    ],
  ],
  'HS-10': [
    [
      'catalog/catalog.ts',
      'the last list of a server that is lost stays for five minutes, then clients hear that it is gone',
    ],
    [
      'mux/calls/forward.ts',
      'a server that cannot be asked for a tool is said to be away, and the tool not to be unknown',
    ],
  ],
  'ID-1': [
    [
      'scenarios/aggregate.ts',
      'two clients with the same ids and tokens on one server get each their own, 10,000 times',
    ],
  ],
  'ID-5': [['eras/legacy/client-side/http-listener.ts', 'a forged answer from another session is ignored']],
  'ID-6': [['eras/listen/pipe-legacy.ts', 'both directions may use the same ids at the same time']],
  'ID-8': [
    [
      'rpc/channel/pending-requests.ts',
      'an id is matched by its number in any spelling or its decimal string, and by nothing looser',
    ],
    [
      'eras/legacy/client-side/uplink.ts',
      'an answer counts only under the very id of an open question, and must be an object',
    ],
  ],
  'INV-3': [['eras/legacy/project/messages.ts', 'no word of 2026-07-28 reaches an older client']],
  'INV-4': [
    [
      'mux/calls/in-flight-call.ts',
      'when a server is lost during calls, each client gets one error with the server and the cause',
    ],
    [
      'rpc/channel/caller.ts',
      'a lost connection ends every open request with the same fault, then is reported once',
    ],
    [
      'eras/legacy/server-side/http-caller.ts',
      'a stream without event ids that ends without the answer fails the request',
    ],
    ['eras/legacy/server-side/sse-channel.ts', 'the end or a break of the stream is the end of the session'],
  ],
  'INV-5': [['vectors/dd.jsonl', 'DD-13']],
  'INV-7': [
    [
      'mux/calls/in-flight-call.ts',
      'when a server is lost during calls, each client gets one error with the server and the cause',
    ],
  ],
  'INV-8': [
    ['catalog/lists/cursor.ts', 'a cursor with one bit changed, cut off or added to is none'],
    ['wire/classify.ts', 'no bytes make it throw'],
    ['transport/http/guards.ts', 'no header text makes a guard throw, or lets a stranger in'],
    [
      'eras/legacy/client-side/http-listener.ts',
      'an event id that is unknown, of another session or no longer kept is 400',
    ],
  ],
  'LC-1': [
    [
      'catalog/lists/list-reader.ts',
      'a list is followed to its end: cursors are opaque, an empty one counts, null is the end',
    ],
    ['catalog/lists/list-reader.ts', 'a server that sends the same cursor again is read no further'],
  ],
  'LC-2': [
    [
      'catalog/catalog.ts',
      'a list is read to its end, once, in the order of the configuration and of each server',
    ],
  ],
  'LC-4': [
    [
      'mux/clients/client-registry.ts',
      'what it sees does not depend on what it asked before, nor on what it can be asked',
    ],
  ],
  'LC-7': [
    [
      'catalog/catalog.ts',
      'without a channel for changes a list is read again when a client asks after half a minute',
    ],
  ],
  'LC-8': [
    [
      'catalog/catalog.ts',
      'a list may be kept until the first of its parts is too old, and by all if all agree',
    ],
    ['catalog/catalog.ts', 'a list is not cacheable if a part of it may change without a notification'],
  ],
  'LC-10': [
    [
      'catalog/catalog.ts',
      'the last list of a server that is lost stays for five minutes, then clients hear that it is gone',
    ],
  ],
  'LC-11': [
    [
      'catalog/catalog.ts',
      'a server that hangs, fails or is away delays the other lists no longer than the wait',
    ],
  ],
  'LC-12': [['catalog/capabilities.ts', 'servers of all revisions count']],
  'LG-2': [
    [
      'mux/calls/log-levels.ts',
      'a server is told the most verbose level that one of its clients wants, when that changes',
    ],
    [
      'mux/calls/log-levels.ts',
      'a message reaches its one client at its level, on its call, under the name of its server',
    ],
  ],
  'LG-4': [
    ['mux/calls/log-levels.ts', 'a message without evidence goes to the only call in flight, or is dropped'],
  ],
  'LG-6': [
    [
      'mux/calls/log-levels.ts',
      'a server is told the most verbose level that one of its clients wants, when that changes',
    ],
  ],
  'PG-1': [
    ['mux/calls/in-flight-call.ts', 'progress is relayed while it increases, and nothing after the end'],
  ],
  'PI-2': [
    [
      'eras/legacy/server-side/heartbeat.ts',
      'a silent server is pinged every 30 s and given up after two misses',
    ],
  ],
  'PI-3': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'an answer that takes long becomes a stream, and streams are kept alive',
    ],
    ['eras/listen/sse-listener.ts', 'a comment every 15 s keeps a silent stream alive'],
  ],
  'RO-5': [
    [
      'mux/server-requests/server-requests.ts',
      'outside of any call, the only client that ever used the server is asked; a second one ends that',
    ],
  ],
  'RT-2': [
    ['catalog/names/names.ts', 'a longer or stranger name is cut and told apart by its hash'],
    ['catalog/names/names.ts', 'no two of 100,000 tools meet in one name, and every name stays what it is'],
  ],
  'RT-7': [
    [
      'scenarios/aggregate.ts',
      'URIs of three servers that own the same ones round-trip, with subscriptions and updates',
    ],
  ],
  'SB-2': [
    [
      'mux/notifications/subscription-streams.ts',
      'a server that does not accept in five seconds is left out, however it decides later',
    ],
  ],
  'SB-3': [
    [
      'mux/notifications/resource-subscriptions.ts',
      'a server is subscribed once for all clients, and unsubscribed with the last',
    ],
  ],
  'SB-8': [
    [
      'mux/notifications/subscription-streams.ts',
      'when a server was lost and is back, who listens hears what it may have missed',
    ],
  ],
  'SB-9': [
    [
      'mux/router.ts',
      'twenty notifications without a change are dropped; with a change they become one, for affected clients',
    ],
  ],
  'SB-11': [
    [
      'mux/notifications/resource-subscriptions.ts',
      'after a loss subscriptions are renewed, and what may have been missed is reported',
    ],
    ['mux/calls/log-levels.ts', 'after a loss the server is told the level again'],
  ],
  'SB-14': [
    ['eras/legacy/server-side/http-caller.ts', 'a server without such a stream is left in peace'],
    [
      'catalog/catalog.ts',
      'without a channel for changes a list is read again when a client asks after half a minute',
    ],
  ],
  'SE-5': [
    ['cli/serve/serve.ts', 'serve prints where it listens, serves, and ends its servers when it ends'],
    [
      'transport/http/server.ts',
      'a rebound Host and a foreign Origin are refused everywhere, before anything else',
    ],
  ],
  'SE-6': [
    ['eras/legacy/client-side/http-listener.ts', 'invalid requests to this endpoint get their HTTP status'],
    ['eras/listen/sse-listener.ts', 'a session of another principal is unknown'],
  ],
  'SE-8': [
    [
      'eras/legacy/project/schemas.ts',
      'a schema as deep as a message may be is neither walked to its end nor fatal',
    ],
    ['wire/classify.ts', 'a document of any depth is refused, not recursed into'],
  ],
  'TR-1': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'what belongs to a call is heard on its stream only, what belongs to none on the standalone one',
    ],
  ],
  'TR-2': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'notifications wait for a stream: a hundred of them, changed lists once each',
    ],
  ],
  'TR-3': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'initialize is answered as JSON with an unguessable session id',
    ],
    [
      'eras/legacy/client-side/http-listener.ts',
      'lists are JSON; a call that asks for progress is a stream from the start',
    ],
  ],
  'TR-4': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'initialize is answered as JSON with an unguessable session id',
    ],
    ['eras/legacy/client-side/http-listener.ts', 'invalid requests to this endpoint get their HTTP status'],
  ],
  'TR-6': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'a broken stream is taken up after the event that was seen last, without a gap or a stranger',
    ],
  ],
  'TR-7': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'streams begin with an event to resume from and a retry time, only for clients that know it',
    ],
  ],
  'TR-8': [
    [
      'eras/legacy/server-side/http-caller.ts',
      'a broken stream is taken up after its last event, when the server wants it',
    ],
  ],
  'TR-10': [
    [
      'eras/listen/sse-listener.ts',
      'the stream begins with the endpoint: a relative URI with an unguessable id',
    ],
    [
      'eras/listen/sse-listener.ts',
      'a POST is taken with 202 and answered on the stream, one line of data per message',
    ],
    [
      'eras/listen/sse-listener.ts',
      'clients of SDK v1 connect, call many tools at once, hear progress and are asked',
    ],
  ],
  'TR-11': [
    [
      'eras/legacy/server-side/sse-channel.ts',
      'an endpoint at another origin is refused, and the stream is ended',
    ],
  ],
  'TR-12': [
    ['transport/stdio/child.ts', 'banners and other noise on stdout are not messages, and are logged once'],
    ['wire/jsonrpc.ts', 'a frame is one line however its parts were laid out'],
  ],
  'TR-13': [
    [
      'transport/process/kill-ladder.ts',
      'a child that ignores stdin and SIGTERM is killed together with its own child',
    ],
    [
      'transport/stdio/child.ts',
      'close ends a child and a grandchild that ignore everything, and is told once',
    ],
  ],
  'TR-14': [
    ['transport/ws.ts', "the official client's WebSocket transport speaks with us"],
    ['transport/ws.ts', 'an invalid frame closes the connection with its code'],
    ['transport/ws.ts', 'strangers are refused before anything is opened'],
  ],
  'UP-17': [
    ['eras/legacy/client-side/uplink.ts', 'questions wait until the client has said that it is ready'],
  ],
  'UP-18': [
    ['eras/legacy/client-side/http-listener.ts', 'invalid requests to this endpoint get their HTTP status'],
    [
      'eras/listen/pipe-legacy.ts',
      'what cannot be read is answered without id only to clients that know such errors',
    ],
  ],
  'CT-26': [
    ['scenarios/isolation.ts', 'credentials stay on their hop, and servers learn nothing of each other'],
  ],
  'HD-11': [
    ['scenarios/isolation.ts', 'credentials stay on their hop, and servers learn nothing of each other'],
  ],
  'HS-11': [
    ['scenarios/isolation.ts', 'credentials stay on their hop, and servers learn nothing of each other'],
  ],
  'HS-12': [
    ['scenarios/isolation.ts', 'credentials stay on their hop, and servers learn nothing of each other'],
  ],
  'INV-9': [
    ['scenarios/isolation.ts', 'credentials stay on their hop, and servers learn nothing of each other'],
  ],
  'TK-4': [
    ['scenarios/isolation.ts', 'credentials stay on their hop, and servers learn nothing of each other'],
    ['mux/tasks/task-calls.ts', 'tasks are announced to clients that can follow those of a visible server'],
  ],
  'TR-15': [['scenarios/isolation.ts', 'one port serves clients of every age at once']],
  'UP-19': [
    [
      'eras/legacy/client-side/uplink.ts',
      'a client that writes initialize, initialized and tools/list at once gets both answers in order',
    ],
  ],
  'CN-4': [
    [
      'eras/modern/client-side/http-listener.ts',
      'a client that closes the stream, or gives up waiting for JSON, cancels its request',
    ],
    [
      'eras/legacy/server-side/downlink.ts',
      'a cancelled call tells the server once, under our id, and hears nothing more',
    ],
    ['eras/modern/server-side/downlink.ts', 'over HTTP the response is closed at once, and nothing is sent'],
  ],
  'DD-1': [
    ['eras/detect/server.ts', 'a second connection does not ask again while the first is open'],
    ['eras/detect/server.ts', 'after a loss it is asked again: it may be another version'],
  ],
  'DD-2': [
    [
      'eras/detect/server.ts',
      'a server that is legacy for sure is not asked, and what it names does not change that',
    ],
    [
      'eras/detect/server.ts',
      'a server that is modern for sure never gets initialize, and has the time of a handshake',
    ],
  ],
  'DD-3': [
    [
      'eras/detect/server.ts',
      'the first bytes to an unknown server are one server/discover under a text of ours, and nothing else',
    ],
  ],
  'DD-5': [
    [
      'eras/detect/server.ts',
      'a server that ends at the question is started once more, and only asked to initialize',
    ],
  ],
  'DD-6': [
    [
      'eras/detect/server.ts',
      'a silent server gets initialize after the probe timeout; the probe is not cancelled',
    ],
  ],
  'DD-10': [
    [
      'eras/detect/server.ts',
      'a server that ends at the question is started once more, and only asked to initialize',
    ],
  ],
  'DD-11': [
    ['eras/detect/server.ts', 'neither a login nor an outage decides: 401, 503, and then a modern server'],
  ],
  'DD-12': [
    ['eras/detect/server.ts', 'an older server is asked again after a day, at most'],
    ['eras/detect/server.ts', 'after a loss it is asked again: it may be another version'],
  ],
  'ER-7': [
    [
      'eras/modern/server-side/http-caller.ts',
      'two such refusals in a row are our fault, and not the client’s',
    ],
  ],
  'ER-9': [
    [
      'eras/modern/server-side/downlink.ts',
      'a server that no longer speaks this revision ends the connection; what it refused was not run',
    ],
    ['eras/detect/server.ts', 'a server replaced by an older one is probed again'],
    [
      'mux/calls/in-flight-call.ts',
      'a call that the server provably did not run, because it forgot the session, is sent once more',
    ],
  ],
  'HD-2': [
    ['eras/modern/mirror-headers.ts', 'headers that match the body are accepted'],
    ['eras/modern/mirror-headers.ts', 'the first header that differs from the body is named'],
    ['eras/modern/mirror-headers.ts', 'a value marked as encoded that is not is refused'],
    ['eras/modern/mirror-headers.ts', 'spaces and tabs around a header are not part of it'],
  ],
  'HD-3': [
    [
      'eras/modern/mirror-headers.ts',
      'headers of parameters are required and compared where the body has a value',
    ],
    [
      'eras/modern/client-side/uplink.ts',
      'arguments that a tool wants repeated in headers are compared with them',
    ],
  ],
  'HD-5': [
    [
      'eras/modern/mirror-headers.ts',
      'a value goes into a header as the specification prints it, and comes out again',
    ],
  ],
  'HD-6': [['eras/modern/param-headers.ts', 'arguments at any depth of properties have their headers']],
  'HD-8': [
    [
      'eras/modern/server-side/http-caller.ts',
      'a tool that cannot be called over HTTP is left out of the list, with a word in the log',
    ],
    [
      'eras/modern/param-headers.ts',
      'every mistake of a tool is reported, and valid annotations still count',
    ],
  ],
  'ID-7': [['eras/modern/client-side/inbound-call.ts', 'a listening request gets changes under its own id']],
  'INV-1': [['matrix/flows/rig.ts', 'ids, tokens, cursors and states stay on their hop']],
  'CT-38': [
    ['vectors/hops.ts', 'what a schema does not allow is told'],
    ['matrix/flows/rig.ts', 'whatever the client heard is of its revision'],
  ],
  'PG-3': [
    [
      'eras/modern/client-side/http-listener.ts',
      'who wants progress, log messages or changes gets a stream, others JSON',
    ],
  ],
  'SB-10': [
    [
      'eras/modern/server-side/subscription-stream.ts',
      'a stream that ends is opened again, and what may have been missed is reported once',
    ],
  ],
  'SB-13': [
    [
      'eras/modern/client-side/http-listener.ts',
      'streams are kept alive, and answers that take long become streams',
    ],
    [
      'mux/notifications/subscription-streams.ts',
      'a principal has eight requests that listen, and a place again when one of them ends',
    ],
  ],
  'UP-16': [
    [
      'eras/modern/client-side/http-listener.ts',
      'a session id and the id of an event mean nothing, and none is given out',
    ],
  ],
}

const rules = readChecks().map(({ rule }) => rule)
const tables = (rule: string): number => [rule in COVERED, CHECK_EXCEPTIONS.has(rule)].filter(Boolean).length

t.test('a check is in one table, and the tables hold nothing else', async t => {
  t.equal(new Set(rules).size, rules.length, 'each rule has one check')
  t.same(
    rules.filter(rule => tables(rule) !== 1),
    [],
  )
  t.same(
    [...Object.keys(COVERED), ...CHECK_EXCEPTIONS.keys()].filter(rule => !rules.includes(rule)),
    [],
  )
})

t.test('the tests that are said to show a check are there', async t => {
  for (const [rule, tests] of Object.entries(COVERED)) {
    for (const [file, title] of tests) {
      const path = new URL(`../${file}`, import.meta.url)
      const text = existsSync(path) ? readFileSync(path, 'utf8') : ''
      t.ok(
        ["'", '"', '`'].some(quote => text.includes(`${quote}${title}${quote}`)),
        `${rule}: ${file}: ${title}`,
      )
    }
  }
})

t.comment(
  `checks: ${rules.length}, of which ${Object.keys(COVERED).length} hold and ${CHECK_EXCEPTIONS.size} cannot be shown`,
)
for (const [rule, { kind, reason }] of CHECK_EXCEPTIONS) t.comment(`  ${kind}: ${rule}: ${reason}`)
