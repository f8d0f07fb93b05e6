import { homedir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { stateFolder } from '../../src/app/state-folder.js'

t.test('where state is kept is a table', async t => {
  const home = join(homedir(), '.local', 'state', 'mcp-proxy')
  const rows: readonly (readonly [object, NodeJS.Platform, string])[] = [
    [{}, 'linux', home],
    [{ XDG_STATE_HOME: '/state' }, 'linux', join('/state', 'mcp-proxy')],
    [{ XDG_STATE_HOME: 'not/absolute' }, 'linux', home],
    [{ XDG_STATE_HOME: '' }, 'darwin', home],
    [{ LOCALAPPDATA: '/local' }, 'win32', join('/local', 'mcp-proxy', 'state')],
    [{ LOCALAPPDATA: '/local' }, 'linux', home],
    [{ LOCALAPPDATA: '/local', XDG_STATE_HOME: '/state' }, 'win32', join('/state', 'mcp-proxy')],
  ]
  for (const [env, platform, folder] of rows) {
    t.equal(stateFolder(env as Record<string, string>, platform), folder)
  }
})
