/**
 * Tests that show what the checks about questions across the eras, and about tasks, say: file below test/ and
 * title.
 */
export const COVERED_QUESTIONS: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'AT-8': [
    [
      'mux/calls/client-turns.ts',
      'of clients that share a server one calls at a time, in the order in which they came',
    ],
    [
      'mux/calls/client-turns.ts',
      'ten questions to two clients that call at the same time all find their person',
    ],
  ],
  'CN-6': [
    [
      'mux/tasks/task-driver.ts',
      'a cancelled call of a task is cancelled in the way of tasks, and in no other',
    ],
    [
      'mux/tasks/task-driver.ts',
      'a task that was asked for is cancelled when its name is known, a plain call at once',
    ],
  ],
  'CT-39': [
    [
      'mux/calls/result-presenter.ts',
      'a tool that returns no structured output although it promised some is listed without the promise',
    ],
  ],
  'MI-1': [
    [
      'mux/server-requests/questions.ts',
      'each request declares the capabilities of its client and its log level',
    ],
    [
      'eras/modern/server-side/downlink.ts',
      'each request says who calls and what may be asked, and nothing else of the client’s envelope',
    ],
  ],
  'MI-3': [
    [
      'mux/input-required/rounds/round-driver.ts',
      'a page that a server wants visited is put to the client, and the request made again with its answer',
    ],
    [
      'mux/input-required/rounds/input-rounds.ts',
      'a retry is the first request with this round’s answers and the latest state, byte for byte',
    ],
  ],
  'MI-9': [
    [
      'mux/input-required/rounds/round-driver.ts',
      'a server that asks for ever is not asked again after ten rounds',
    ],
  ],
  'MI-10': [
    [
      'mux/server-requests/questions.ts',
      'a client that cancels during a question is asked no more, and its server gets nothing',
    ],
    [
      'mux/input-required/rounds/round-driver.ts',
      'a client that cancels is asked no more, and a running server is notified',
    ],
  ],
  'MI-11': [
    [
      'eras/legacy/client-side/http-listener.ts',
      'an answer that takes long becomes a stream, and streams are kept alive',
    ],
    [
      'mux/input-required/rounds/round-driver.ts',
      'progress of every try reaches the client, and none of a try that is over',
    ],
  ],
  'MI-12': [
    ['eras/legacy/project/messages.ts', 'no word of 2026-07-28 reaches an older client'],
    [
      'mux/server-requests/questions.ts',
      'a wish for input where there may be none is an error, for every client',
    ],
  ],
  'MO-1': [['scenarios/parked-asks.ts', 'outside a request that can return a question, no client is asked']],
  'MO-4': [
    [
      'mux/input-required/parked/parked-calls.ts',
      'two questions in the window form one round; an unanswered one is asked again under a new key',
    ],
  ],
  'MO-6': [
    [
      'mux/input-required/input-retries.ts',
      'a state in which a character was changed is refused, whichever it is, and the call stays parked',
    ],
    ['mux/input-required/retry/sealed-state.ts', 'no two seals of one state are alike, and none can be read'],
  ],
  'MO-7': [
    [
      'mux/input-required/input-retries.ts',
      'a state is worth nothing for another request, and says the same words for every cause',
    ],
    ['mux/input-required/input-retries.ts', 'a state expires'],
  ],
  'MO-9': [
    [
      'mux/input-required/input-retries.ts',
      'what only reads runs again after a restart, and the answer of the retry is not asked for twice',
    ],
    [
      'mux/input-required/input-retries.ts',
      'a tool runs again only if it says that this does no harm, and the configuration believes it',
    ],
  ],
  'MO-11': [
    [
      'mux/input-required/input-retries.ts',
      'cancelling a retry cancels the one call at its server; a later retry finds nothing',
    ],
  ],
  'MO-12': [
    [
      'scenarios/parked-asks.ts',
      'a server that gave up on its question and returned a result: the next retry gets it',
    ],
  ],
  'MO-14': [
    [
      'mux/input-required/parked/parked-calls.ts',
      'a server that asks for ever is cancelled after the last round, and the model reads why',
    ],
    ['mux/input-required/parked/parked-calls.ts', 'so much is parked, so long and so often'],
  ],
  'MO-15': [
    ['scenarios/parked-asks.ts', 'progress and log lines go to the request that is open, if it wants them'],
  ],
  'MO-16': [
    [
      'mux/input-required/input-retries.ts',
      'of two retries of one round one goes on, and the other is refused',
    ],
  ],
  'MO-17': [
    [
      'scenarios/parked-asks.ts',
      'the 33rd call of a user that would be parked is not: its server is refused, and goes on',
    ],
  ],
  'MO-18': [
    [
      'scenarios/parked-asks.ts',
      'a page is asked for without the id that the server gave it; that the user agreed is all it hears',
    ],
  ],
  'MO-20': [
    [
      'mux/input-required/input-retries.ts',
      'what only reads runs again after a restart, and the answer of the retry is not asked for twice',
    ],
  ],
  'MO-21': [
    [
      'scenarios/parked-asks.ts',
      'at the end of the proxy a parked call is cancelled at its server, then its question is answered',
    ],
  ],
  'MR-1': [
    [
      'mux/input-required/rounds/relayed-input.ts',
      'a wish for input is passed on as it came, but for the state, and nothing of it is kept',
    ],
  ],
  'MR-4': [
    [
      'mux/input-required/rounds/relayed-input.ts',
      'what its client did not declare never reaches it: that is the server’s fault',
    ],
  ],
  'PG-2': [
    [
      'eras/legacy/server-side/downlink.ts',
      'progress of a task arrives under the token of its call, until no client listens',
    ],
  ],
  'RO-2': [
    [
      'eras/modern/client-side/clients.ts',
      'a client declares what it can be asked, without changes of its roots',
    ],
  ],
  'TK-2': [
    ['mux/tasks/task-calls.ts', 'a session asks for a task where the tool allows it, and only there'],
    [
      'mux/tasks/task-calls.ts',
      'a session gets the result, the state and the questions of its task under its own id',
    ],
  ],
  'TK-3': [
    ['mux/tasks/task-calls.ts', 'every id that is not the client’s own gets the same answer'],
    ['scenarios/client-tasks.ts', 'both headers that repeat the name of a task say what their body says'],
    ['scenarios/client-tasks.ts', 'a request of 2026-07-28 that does not declare tasks gets results only'],
  ],
  'TK-6': [
    [
      'mux/tasks/task-driver.ts',
      'a task of the extension is followed for every client; its result is in its status',
    ],
    [
      'mux/tasks/task-driver.ts',
      'questions of such a task are put to a client that is asked, and its answers to the task',
    ],
  ],
}
