import type { ConfigView } from '../../control/api/views.js'
import { change, withOwnCommand } from '../live/api.js'
import { hrefOf } from '../live/route.js'
import { type AnyServer, isOn, type PageState } from '../live/state.js'
import { Action } from '../parts/dialog.js'
import { clockTime } from '../parts/format.js'
import { Lamp } from '../parts/lamp.js'
import { type Column, Table } from '../parts/table.js'
import { CommandText, LongText } from '../parts/text.js'

/** Puts the servers first, each with its name and its transport first. */
const serversFirst = ({ servers, ...settings }: ConfigView['config']): object => ({
  servers: servers.map(({ name, transport, ...more }) => ({ name, transport, ...more })),
  ...settings,
})

/** The configured servers with what they start or address, and their lines in the file. */
const ServerPlaces = ({ state }: { readonly state: PageState }) => {
  const servers = state.servers?.servers ?? []
  if (servers.length === 0) return null
  return (
    <section aria-labelledby="servers-in-file">
      <h3 id="servers-in-file">Servers</h3>
      <Table
        label="Servers in the file"
        columns={PLACES}
        rows={servers}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => hrefOf('servers', name)}
        noteOf={server => <code class="muted">{targetOf(server)}</code>}
        isNoteNarrow
      />
    </section>
  )
}

const targetOf = (server: AnyServer): string => (isOn(server) ? (server.target ?? '') : '')

const PLACES: readonly Column<AnyServer>[] = [
  {
    head: 'Server',
    cell: ({ name }) => <span class="name">{name}</span>,
    ...{ width: 'minmax(5rem, 1fr)', sortBy: ({ name }) => name },
  },
  {
    head: 'State',
    cell: ({ state }) => <Lamp word={state} />,
    ...{ width: '8.2rem', sortBy: ({ state }) => state },
  },
  {
    head: 'Command or address',
    cell: server => <code>{targetOf(server)}</code>,
    ...{ width: 'minmax(0, 4fr)', isWide: true, sortBy: targetOf },
  },
  {
    head: 'Line',
    cell: ({ line }) => line ?? '–',
    ...{ width: '3rem', isNumber: true, sortBy: ({ line }) => line },
  },
]

/** Shows the active configuration without secrets, and the problems of the file. */
export const Configuration = ({ state }: { readonly state: PageState }) => {
  const { config } = state
  if (config === undefined) return <p class="muted">Loading …</p>
  const { file, problems } = config
  return (
    <>
      <div class="head-row">
        {file === undefined ? (
          <p class="muted">No configuration file.</p>
        ) : (
          <p>
            <code>{file.file}</code> <span class="muted">active since {clockTime(file.loadedAt)}</span>
          </p>
        )}
        {file !== undefined && <Action label="Reload" act={() => change('reload')} />}
      </div>
      {file?.lastReload !== undefined && (
        <p>
          Last reload, {clockTime(file.lastReload.at)}:{' '}
          {file.lastReload.result === 'ok' ? (
            <Lamp word="ok" />
          ) : (
            <Lamp word="failed" show="rejected; the previous configuration stays active" />
          )}
        </p>
      )}
      <section aria-labelledby="file-problems">
        <h3 id="file-problems">Problems</h3>
        {problems.length === 0 ? (
          <p class="fine">
            <Lamp word="ok" show="No problems." />
          </p>
        ) : (
          <ul class="troubles">
            {problems.map(({ severity, file: where, line, column, key, message, fix }) => (
              <li key={`${key} ${line} ${message}`} class={severity === 'error' ? 'bad' : 'odd'}>
                <span class="about">{key || 'the file'}</span>
                <Lamp word={severity === 'error' ? 'failed' : 'odd'} show={severity} />
                <span class="words">
                  <LongText text={`${message}. ${withOwnCommand(fix)}`} first={400} />
                </span>
                <code>{[where, line, column].filter(Boolean).join(':')}</code>
              </li>
            ))}
          </ul>
        )}
        {problems.length > 0 && <CommandText text="mcp-proxy check" />}
      </section>
      <ServerPlaces state={state} />
      <section aria-labelledby="in-force">
        <h3 id="in-force">Active configuration, without secrets</h3>
        <pre tabIndex={0}>
          <LongText text={JSON.stringify(serversFirst(config.config), null, 2)} first={16_000} />
        </pre>
      </section>
    </>
  )
}
