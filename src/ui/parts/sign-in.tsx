import { useState } from 'preact/hooks'
import { change, messageOf } from '../live/api.js'
import { CommandText } from './text.js'

/** The login page of the proxy, or the reason for its absence. */
interface Offer {
  readonly url?: string
  readonly why?: string
}

/** Shows the state of a login in another tab, with a link to it, or the command to run. @internal */
export const Offered = ({
  offer: { url, why = 'Run this on the host of the proxy:' },
  command,
}: {
  readonly offer: Offer
  readonly command: string
}) =>
  url === undefined ? (
    <>
      <span class="muted">{why}</span>
      <CommandText text={command} />
    </>
  ) : (
    <>
      <span class="muted">Continue in the new tab. Did none open?</span>
      <a href={url} target="_blank" rel="noreferrer">
        Open the sign-in page
      </a>
    </>
  )

/** Opens the login page in a tab that the click has opened: later, browsers would block it as a popup. */
const goTo = (tab: Window | null, url: string | undefined): void => {
  if (tab === null) return
  if (url === undefined) {
    tab.close()
    return
  }
  tab.opener = null
  tab.location.href = url
}

/** A button that starts the login at a server in this browser, in a new tab. */
export const SignInButton = ({ name, command }: { readonly name: string; readonly command: string }) => {
  const [offer, setOffer] = useState<Offer | undefined>()
  const start = async (): Promise<void> => {
    const tab = open('about:blank', '_blank')
    const found = await change<Offer>(`servers/${encodeURIComponent(name)}/sign-in`).catch(
      (thrown: unknown): Offer => ({ why: messageOf(thrown) }),
    )
    goTo(tab, found.url)
    setOffer(found)
  }
  return (
    <span class="action">
      <button type="button" aria-label={`Sign in at ${name}`} onClick={() => void start()}>
        Sign in
      </button>
      {offer !== undefined && <Offered offer={offer} command={command} />}
    </span>
  )
}
