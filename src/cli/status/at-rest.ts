import { configFile, loadFile } from '../shared/configuration.js'
import { CliError, EXIT } from '../shared/verb.js'

/**
 * Answers a control API path without a running proxy, from the configuration and the cached server lists.
 * Starts nothing. Rejects with a CliError for an unusable configuration.
 */
export const answerAtRest = async (
  flag: string | undefined,
  path: string,
  query = new URLSearchParams(),
): Promise<object> => {
  const file = configFile(flag)
  const { config, problems, disabled } = await loadFile(file)
  if (config === undefined)
    throw new CliError(EXIT.configuration, `${file} cannot be used: see mcp-proxy check --config ${file}`)
  const [{ createProxy }, { stateDir }] = await Promise.all([
    import('../../app/proxy.js'),
    import('../../state/state-key.js'),
  ])
  const servers = config.servers.map(server => ({ ...server, start: 'lazy' as const }))
  const off = disabled.flatMap(({ name, why }) => (why === 'disabled' ? [name] : []))
  const proxy = createProxy(
    { ...config, servers, audit: undefined, cluster: undefined },
    {
      stateDir: stateDir(process.env),
      configStatus: () => ({
        ...{ file, generation: 1, loadedAt: new Date().toISOString(), lastReload: undefined },
        problems: { errors: 0, warnings: 0 },
        ...(off.length > 0 && { disabled: off }),
      }),
      configProblems: () => problems,
    },
  )
  try {
    const api = await proxy.api()
    const answer = await api.answer({ method: 'GET', path, query, body: '' })
    return answer !== undefined && 'value' in answer ? answer.value : {}
  } finally {
    await proxy.close()
  }
}
