import { configFile, readUsable } from '../shared/configuration.js'
import { print, printText } from '../shared/output/output.js'
import { EXIT } from '../shared/verb.js'
import { lockTarget, printDifferences, readSent } from './locked.js'

/** Compares the servers with the lock file, and their texts with each other. Resolves with the exit code. */
export const checkLocked = async (flag: string | undefined, isJson: boolean): Promise<number> => {
  const { config: whole, disabled } = await readUsable(flag)
  const target = lockTarget(whole, configFile(flag))
  const { config, lock, servers } = target
  const sent = await readSent(config, servers)
  const [{ LockedPart, NOTHING_SENT, shownDifference }, { mask }] = await Promise.all([
    import('../../kernel/definitions.js'),
    import('../../kernel/secrets/mask.js'),
  ])
  // A disabled server is not compared; one that left the configuration left its definitions behind.
  const configured = new Set([...config.servers, ...disabled].map(({ name }) => name))
  const gone = [...lock.locked.keys()].filter(name => !configured.has(name))
  const differences = [...sent, ...gone.map(name => [name, NOTHING_SENT] as const)].flatMap(([name, found]) =>
    new LockedPart(name, lock.locked.get(name), lock.ignore).all(found),
  )
  const checks = await textFindings(sent)
  const ok = differences.length === 0
  if (isJson) {
    const value = { version: 1, ok, differences: differences.map(shownDifference), checks }
    print(mask(JSON.stringify(value, null, 2)))
  } else {
    await printDifferences(differences)
    for (const { id, level, message, fix } of checks) printText(mask(`${level}  ${id}: ${message}; ${fix}`))
  }
  return ok ? EXIT.ok : EXIT.negative
}

const textFindings = async (sent: Awaited<ReturnType<typeof readSent>>) => {
  const [{ modelTexts }, texts] = await Promise.all([
    import('../../kernel/model-texts.js'),
    import('../../doctor/checks/texts.js'),
  ])
  const servers = [...sent].map(([server, found]) => ({ server, texts: modelTexts(found) }))
  const { lookAtHiddenText, lookAtLookalikes, lookAtMentions } = texts
  return [lookAtHiddenText, lookAtLookalikes, lookAtMentions]
    .flatMap(look => look(servers))
    .map(({ id, level, subject, message, fix }) => ({ id, level, subject, message, fix }))
}
