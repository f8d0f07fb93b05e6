import type { LoginStatus } from '../../auth/store/login-status.js'
import { cause, explain } from '../../diagnostics/explain.js'
import { sanitizeLine } from '../../kernel/secrets/mask.js'
import { readConfiguration } from '../shared/configuration.js'
import { print, printText, spanText } from '../shared/output/output.js'
import { stdoutLayout, tableText } from '../shared/output/table.js'
import { configOption, defineVerb, EXIT } from '../shared/verb.js'
import { openStore, signInServers } from './signing-in.js'

const HEADINGS = ['SERVER', 'OWNER', 'STATE', 'SCOPES', 'EXPIRES', 'REFRESH']

export const status = defineVerb({
  usage: 'status',
  describe: 'Show the logins at the servers of a configuration',
  flags: {
    config: configOption,
    all: { type: 'boolean', describe: 'Include the logins of users who sign in through pages of the proxy' },
    json: { type: 'boolean', describe: 'One JSON document' },
  },
  examples: [
    ['mcp-proxy auth status', 'Your logins, with scopes and expiry'],
    ['mcp-proxy auth status --all', 'With "credentials": "per-principal": all users'],
    ['mcp-proxy auth status --json | jq .logins', 'For programs'],
  ],
  async run(args) {
    const { loginStatuses } = await import('../../auth/store/login-status.js')
    const config = await readConfiguration(args.config)
    const store = await openStore(config.credentialStore)
    const found = await loginStatuses(store, signInServers(config), args.all === true)
    const table = (): string => tableText(HEADINGS, found.map(rowOf), stdoutLayout())
    if (args.json === true) print(JSON.stringify({ version: 1, logins: found }, null, 2))
    else printText(table())
    return EXIT.ok
  },
})

const NOTHING = '–'

const rowOf = (status: LoginStatus): string[] => {
  const { server, owner, state, scopes, leftMs, isRenewable, isForServer, problem } = status
  const needsPerson = state !== 'ok' && state !== 'none'
  const renewal = isRenewable === undefined ? NOTHING : isRenewable ? 'yes' : 'no'
  const audience = isForServer === false ? ' (the token is not for this server alone)' : ''
  const remark = problem === undefined ? audience : `${audience} (last answer: ${sanitizeLine(problem)})`
  return [
    server,
    shownOwner(owner),
    state,
    scopes?.join(' ') ?? NOTHING,
    leftMs === undefined ? NOTHING : leftMs === 0 ? 'now' : `in ${spanText(leftMs)}`,
    (needsPerson && isByCommand(owner) ? `run: ${explain(cause('D036', { server }, server)).fix}` : renewal) +
      remark,
  ]
}

/** Other owners sign in through web pages. */
const isByCommand = (owner: string): boolean => owner === 'shared' || owner === 'local'

/** Formats an issuer's subject for people, name first. */
const shownOwner = (owner: string): string => {
  const [, issuer, subject] = /^(https?:\S+) (.*)$/s.exec(owner) ?? []
  return sanitizeLine(issuer === undefined ? owner : `${subject}@${issuer}`)
}
