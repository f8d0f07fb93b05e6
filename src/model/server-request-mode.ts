/**
 * The way servers ask. `pushed`: by requests of their own, with change notifications at any time (before
 * 2026-07-28). `returned`: inside the answer to a request, which the client repeats with the input
 * (2026-07-28, basic/patterns/mrtr), with change notifications on a listening request
 * (basic/patterns/subscriptions).
 */
export type ServerRequestMode = 'pushed' | 'returned'
