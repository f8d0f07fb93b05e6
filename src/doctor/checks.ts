import type { ProblemId } from '../diagnostics/causes.js'
import * as clients from './checks/clients.js'
import * as config from './checks/configuration.js'
import * as daemon from './checks/daemon.js'
import * as own from './checks/installation.js'
import { lookAtApprovals, lookAtCallRules } from './checks/rules.js'
import { lookAtSecretFiles } from './checks/secret-files.js'
import * as servers from './checks/servers.js'
import * as texts from './checks/texts.js'
import * as tools from './checks/tools.js'
import type { Facts } from './facts.js'
import type { Finding } from './finding.js'

/** One check: the facts it needs, and a pure function from them to findings. */
export interface Check {
  readonly id: ProblemId
  readonly needs: readonly (keyof Facts)[]
  /** True if its facts require starting or contacting something. */
  readonly isLive: boolean
  readonly look: (facts: readonly unknown[]) => readonly Finding[]
}

const LIVE: ReadonlySet<keyof Facts> = new Set(['shell', 'docker', 'trial', 'probes'])

type Looking<Needs extends readonly (keyof Facts)[]> = (
  ...facts: { [At in keyof Needs]: Facts[Needs[At]] }
) => readonly Finding[]

const check = <const Needs extends readonly (keyof Facts)[]>(
  id: ProblemId,
  needs: Needs,
  look: Looking<Needs>,
): Check => ({
  id,
  needs,
  isLive: needs.some(name => LIVE.has(name)),
  look: facts => look(...(facts as { [At in keyof Needs]: Facts[Needs[At]] })),
})

/** All checks, ordered by number. */
export const CHECKS: readonly Check[] = [
  check('D001', ['installation'], own.lookAtNode),
  check('D002', ['installation'], own.lookAtFiles),
  check('D004', ['installation'], own.lookAtDoubleInstalls),
  check('D005', ['installation'], own.lookAtNamesakes),
  check('D006', ['installation'], own.lookAtState),
  check('D010', ['file'], config.lookAtFile),
  check('D011', ['config'], config.lookAtSyntax),
  check('D012', ['config'], config.lookAtRights),
  check('D013', ['config'], config.lookAtSecrets),
  check('D014', ['daemon'], config.lookAtReload),
  check('D015', ['daemon'], config.lookAtRestart),
  check('D016', ['config'], config.lookAtTwins),
  check('D017', ['config', 'installation'], (facts, { state }) => lookAtSecretFiles(facts, state.path)),
  check('D017', ['config'], lookAtCallRules),
  check('D018', ['config'], lookAtApprovals),
  check('D020', ['config'], config.lookAtVariables),
  check('D021', ['config', 'shell'], config.lookAtOrigins),
  check('D022', ['shell', 'config'], config.lookAtShell),
  check('D023', ['config'], config.lookAtNamedFiles),
  check('D030', ['programs', 'installation'], (programs, { platform }) =>
    servers.lookAtPrograms(programs, platform),
  ),
  check('D031', ['probes', 'programs'], servers.lookAtStarts),
  check('D032', ['probes'], servers.lookAtTimes),
  check('D033', ['config', 'daemon'], servers.lookAtWorkspaces),
  check('D034', ['probes'], servers.lookAtNoise),
  check('D035', ['probes'], servers.lookAtRemotes),
  check('D036', ['probes', 'config'], servers.lookAtLogins),
  check('D037', ['programs'], servers.lookAtContainerFlags),
  check('D037', ['programs', 'docker'], servers.lookAtDocker),
  check('D039', ['daemon'], servers.lookAtGivenUp),
  check('D040', ['daemon'], daemon.lookAtLeftovers),
  check('D041', ['trial'], daemon.lookAtStart),
  check('D042', ['daemon'], daemon.lookAtAnswer),
  check('D043', ['daemon'], daemon.lookAtVersions),
  check('D044', ['processes', 'daemon'], daemon.lookAtDoubles),
  check('D045', ['service'], daemon.lookAtService),
  check('D046', ['daemon'], daemon.lookAtPlace),
  check('D050', ['clients'], clients.lookAtEntries),
  check('D051', ['clients', 'config'], clients.lookAtRepeated),
  check('D052', ['clients'], clients.lookAtPaths),
  check('D053', ['clients'], clients.lookAtForeign),
  check('D054', ['clients'], clients.lookAtProjects),
  check('D055', ['clients'], clients.lookAtAddresses),
  check('D056', ['clients', 'probes', 'config'], clients.lookAtCaps),
  check('D057', ['clients'], clients.lookAtLoading),
  check('D058', ['clients'], clients.lookAtRules),
  check('D059', ['clients', 'config'], clients.lookAtSearch),
  check('D060', ['probes'], tools.lookAtNames),
  check('D061', ['probes'], tools.lookAtSchemas),
  check('D062', ['probes'], tools.lookAtEqualNames),
  check('D063', ['probes'], tools.lookAtTexts),
  check('D064', ['probes'], tools.lookAtTokens),
  check('D065', ['probes'], tools.lookAtHints),
  check('D066', ['probes'], tools.lookAtChanges),
  check('D067', ['probes'], texts.lookAtHiddenText),
  check('D068', ['probes'], texts.lookAtLookalikes),
  check('D069', ['probes'], texts.lookAtMentions),
  check('D070', ['port'], daemon.lookAtPort),
  check('D071', ['config'], config.lookAtReach),
  check('D071', ['service', 'config'], config.lookAtServiceReach),
  check('D080', ['daemon', 'config'], daemon.lookAtLimits),
  check('D082', ['processes'], daemon.lookAtOrphans),
]
