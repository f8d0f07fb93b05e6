/** Headers that a page sends with each request after exchanging its code for a credential. */
export interface PageHeaders extends Record<string, string> {
  readonly 'x-mcp-proxy': string
  readonly 'x-mcp-proxy-secret': string
  readonly cookie: string
}

/** Exchanges a code of `mcp-proxy ui`, as the page does. */
export const logInPage = async (origin: string, code: string) => {
  const response = await fetch(`${origin}/api/v1/login`, {
    method: 'POST',
    headers: { origin, 'x-mcp-proxy': '1' },
    body: JSON.stringify({ code }),
  })
  return { response, headers: await pageHeaders(response) }
}

/** Returns the headers for requests after a login. */
export const pageHeaders = async (login: Response): Promise<PageHeaders> => {
  const { secret = '' } = (await login.json()) as { readonly secret?: string }
  const [cookie = ''] = (login.headers.get('set-cookie') ?? '').split(';')
  return { 'x-mcp-proxy': '1', 'x-mcp-proxy-secret': secret, cookie }
}
