import t from 'tap'
import { shownChange } from '../../../src/setup/install/shown.js'

t.test('an entry of a client is shown with its own variables, and without secrets', t => {
  const entry = {
    command: 'x',
    args: ['--token', 'planted-1', '--key=${input:weather-key}'],
    env: { WEATHER_KEY: '${input:weather-key}', HUB: '${env:HUB_TOKEN}', OTHER: 'planted-2' },
    envFile: '${workspaceFolder}/.env',
  }
  t.same(JSON.parse(shownChange(entry, { scripts: [], urls: [] })), {
    ...entry,
    args: ['--token', '***', '--key=${input:weather-key}'],
    env: { ...entry.env, OTHER: '***' },
  })
  t.end()
})
