import type { CauseRows } from '../row.js'

/** The answers of `why` about a tool, prompt or URI. The part of a code before the dot is the verdict. */
export const NAME_CAUSES = {
  'hidden.allow': {
    says: 'tools.allow does not include it',
    fix: 'add it to "allow" in the "tools" of {server}',
  },
  'hidden.deny': {
    says: 'tools.deny[{index}] "{pattern}"',
    fix: 'remove or narrow the pattern in the "tools" of {server}',
  },
  rule: { says: '{rule}: {what}{conditions}' },
  'rule.always': { fix: 'change {rule} in the configuration' },
  'rule.matched': { says: '{rule} decided{matched}' },
  broken: { number: 'D061', says: '{what}', fix: 'tell the author of the server' },
  repaired: { number: 'D061', says: '{what}' },
  repeated: { says: 'its name is repeated; the first one is shown' },
  'cut-off': {
    number: 'D080',
    says: 'the list of its tools was truncated at a limit (limits.items)',
    fix: 'raise "items" in the "limits" of {server}',
  },
  renamed: { says: 'tools.rename calls it {name}' },
  'renamed.old': { says: 'tools.rename calls it {name}; clients see {exposed}' },
  overridden: { says: 'tools.override replaces parts of it: {parts}' },
  'shortened.long': {
    number: 'D060',
    says: '{whole} is too long by {count} characters; clients see {exposed}',
  },
  'shortened.characters': {
    number: 'D060',
    says: 'these characters are not allowed: {characters}; clients see {exposed}',
  },
  prefixed: {
    number: 'D062',
    says: 'its name was taken; it is exposed as {exposed}, because {owner} has the same name',
  },
  'prefixed.hidden': {
    number: 'D062',
    says: 'its name is taken by {owner}',
    fix: 'give {server} a "prefix"',
  },
  'output-schema-withdrawn': {
    says: 'it returned no structured content {age} ago; its outputSchema is hidden',
  },
  changed: { says: 'clients of {revision} see it without unsupported members' },
  'changed-since-lock': {
    number: 'D066',
    says: 'it differs from the lock file: {fields}',
    fix: "review it, then: mcp-proxy lock --accept {'item'}",
  },
  'changed-since-lock.new': {
    number: 'D066',
    says: 'it is not in the lock file',
    fix: "review it, then: mcp-proxy lock --accept {'item'}",
  },
  'uri-by-list': { says: '{server} alone lists it, as {uri}' },
  'uri-by-prefix': { says: 'its prefix belongs to {server}, which receives {uri}' },
  'uri-by-template': { says: 'the template {template} of {server} matches it' },
  'uri-seen': { says: 'a result of {server} contained it last' },
  'uri-by-elimination': { says: 'no list contains it, and {server} is the only server that has resources' },
  ambiguous: { says: 'these servers have it: {servers}' },
  'ambiguous.template': { says: 'templates of these servers match it: {servers}' },
  'ambiguous.unlisted': {
    says: 'no list contains it; these servers have resources and could own it: {servers}',
  },
  'list-not-read.yet': { says: 'the list of its tools was not read yet' },
  'unknown.name': { says: 'no server, tool, prompt, resource or error has this name{hint}' },
  'unknown.tool': { says: 'the server lists no such tool{hint}' },
  'unknown.forgotten': { says: 'it is not among the last 1,000 errors of this run' },
  'unknown.run': {
    says: 'it belongs to another run, or to mcp-proxy connect, which answers while no proxy runs{hint}',
  },
  remark: { says: '{client} (view {view}) finds it by find_tools, unless it is pinned: {reason}' },
} as const satisfies CauseRows

/** States of servers and of the proxy without a number. */
export const STATE_CAUSES = {
  'disabled.here': {
    label: 'disabled',
    says: 'it is disabled until its entry in the file changes',
    fix: "mcp-proxy enable {'server'}",
  },
  'disabled.file': {
    label: 'disabled',
    says: '"disabled" in the file',
    fix: "mcp-proxy enable {'server'}",
  },
  removed: { says: 'the server was removed from the configuration after the proxy started' },
  misconfigured: {
    level: 'error',
    label: 'misconfigured',
    says: '{message}. {advice}',
    fix: 'mcp-proxy check',
  },
  'misconfigured.warning': { level: 'warn', label: 'configuration' },
  resting: { says: 'it is not running; the first call starts it' },
  starting: { says: 'it is being started' },
  'starting.failed': { says: 'it failed {times}, last {age} ago: {message}' },
  'failed.retry': { says: 'it is tried again in {seconds} s' },
  'failed.count': { number: 'D039', says: 'it is marked as failed after {count} failures' },
  'failed.output': { says: 'it last wrote: {line}' },
  'remark.noise': {
    label: 'noise',
    says: 'wrote {lines} to stdout that {are} not JSON-RPC (D034)',
    fix: 'have it write its log to stderr; such lines are dropped',
    command: "mcp-proxy logs {'server'}",
  },
  'remark.malformed': {
    label: 'noise',
    says: 'sent {messages} that {are} not valid JSON-RPC (D034)',
    fix: 'update it, or report the messages to its author; they are dropped',
    command: "mcp-proxy logs {'server'}",
  },
  'remark.lock': {
    label: 'lock',
    says: 'differs from the lock file: {differences} (D066)',
    fix: 'mcp-proxy check --locked',
  },
  'remark.limit': {
    label: 'limit',
    says: 'reached limits.{limit} {times} (D080)',
    fix: 'look at what reached it in the log; raise it in "limits"',
    command: "mcp-proxy why {'server'}",
  },
  'remark.flapping': {
    label: 'flapping',
    says: 'was lost {count} times, and came back',
    command: "mcp-proxy logs {'server'}",
  },
  'remark.lost': {
    label: 'flapping',
    says: 'was lost {count} times',
    command: "mcp-proxy logs {'server'}",
  },
  'remark.hangs': {
    label: 'hangs',
    says: 'has not answered for {seconds} s since its start',
    command: "mcp-proxy logs {'server'}",
  },
  'remark.slow': { label: 'slow', says: 'took {seconds} s for a call', command: "mcp-proxy why {'server'}" },
  'remark.slow-now': {
    label: 'slow',
    says: 'has taken {seconds} s for a call in progress',
    command: "mcp-proxy why {'server'}",
  },
  'remark.error': {
    label: 'error',
    says: 'its last error was {id}: {message}',
    command: 'mcp-proxy why {id}',
  },
  'list-not-read': {
    level: 'error',
    label: 'list',
    says: 'failed to list its {list}: {reason}',
    command: "mcp-proxy why {'server'}",
  },
  'proxy.draining': {
    level: 'error',
    label: 'draining',
    says: 'it is shutting down and refuses new calls',
    fix: 'mcp-proxy status',
  },
  'proxy.memory': {
    level: 'error',
    label: 'memory',
    says: 'memory is short (level {pressure} of 4)',
    fix: 'mcp-proxy doctor',
  },
} as const satisfies CauseRows
