import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { plainLine } from '../../../kernel/secrets/plain-text.js'

const STYLE = `
:root{color-scheme:light dark;--ground:#f4f5f7;--card:#fff;--ink:#1c2026;--quiet:#5b6472;--line:#dde1e7;
--accent:#1f5fd0;--on:#fff;--warn:#fff6df;--warn-ink:#664800}
@media (prefers-color-scheme:dark){:root{--ground:#14171c;--card:#1e2229;--ink:#e8ebf0;--quiet:#a0a9b8;
--line:#343b46;--accent:#7aa7ff;--on:#10203f;--warn:#352c12;--warn-ink:#f3d98b}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1.5rem;background:var(--ground);
color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{width:100%;max-width:30rem;background:var(--card);border:1px solid var(--line);border-radius:14px;
padding:2rem;box-shadow:0 8px 30px rgb(0 0 0/8%)}
header{font-size:.8rem;color:var(--quiet);letter-spacing:.02em;margin-bottom:1rem}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 1rem;overflow-wrap:anywhere}
h2{font-size:.95rem;margin:1.5rem 0 .5rem}
p{margin:.6rem 0}
dl{margin:1rem 0;border-top:1px solid var(--line)}
dl div{display:flex;gap:1rem;padding:.55rem 0;border-bottom:1px solid var(--line)}
dt{flex:0 0 7.5rem;color:var(--quiet)}
dd{margin:0;overflow-wrap:anywhere}
ul{margin:0;padding-left:1.1rem}
.note{background:var(--warn);color:var(--warn-ink);border-radius:8px;padding:.7rem .9rem;font-size:.92rem}
.quiet{color:var(--quiet);font-size:.92rem}
code,kbd{font:.95em ui-monospace,monospace}
.command{display:block;padding:.8rem 1rem;border:1px solid var(--line);border-radius:8px;
background:var(--ground);overflow-wrap:anywhere;user-select:all}
pre{margin:1rem 0;padding:.8rem 1rem;border:1px solid var(--line);border-radius:8px;background:var(--ground);
max-height:60vh;overflow:auto;font:.9em/1.5 ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}
label{display:block;font-size:.92rem;margin:.8rem 0 .3rem}
input{width:100%;font:inherit;color:inherit;background:var(--ground);border:1px solid var(--line);
border-radius:8px;padding:.6rem .8rem}
.note+p{margin-top:1rem}
.actions{display:flex;flex-wrap:wrap;gap:.7rem;margin-top:1.4rem}
button{font:inherit;font-weight:600;padding:.6rem 1.2rem;border-radius:8px;border:1px solid var(--line);
background:transparent;color:inherit;cursor:pointer}
button.main{background:var(--accent);border-color:var(--accent);color:var(--on)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
`

const HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy': [
    "default-src 'none'",
    `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'X-Frame-Options': 'DENY',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
} as const

/** HTML, created only by `html`. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

const MARKS: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

type Part = Html | string | undefined | readonly Part[]

const textOf = (part: Part): string => {
  if (part === undefined) return ''
  if (part instanceof Html) return part.text
  if (typeof part !== 'string') return part.map(textOf).join('')
  // Prevents text of peers from hiding or reordering the text around it.
  return plainLine(part).replace(/[&<>"']/g, mark => MARKS[mark] ?? '')
}

/** Creates HTML from a template. Inserted parts are escaped unless created by `html`. */
export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(texts.map((text, at) => text + textOf(parts[at])).join(''))

export interface HtmlPage {
  readonly title: string
  readonly body: Html
  readonly status?: number
  /** Seconds until the browser reloads the page; never if absent. */
  readonly againS?: number
}

/** Renders a page without scripts, protected against framing and caching. */
export const renderPage = ({
  title,
  body,
  againS,
}: HtmlPage): { headers: Record<string, string>; text: string } => ({
  headers: HEADERS,
  text: html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
${againS === undefined ? undefined : html`<meta http-equiv="refresh" content="${String(againS)}">`}
<title>${title} · mcp-proxy</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<main>
<header>mcp-proxy</header>
<h1>${title}</h1>
${body}
</main>
</body>
</html>
`.text,
})

export const sendPage = (response: ServerResponse, page: HtmlPage): void => {
  const { headers, text } = renderPage(page)
  response.writeHead(page.status ?? 200, headers).end(text)
}

/** Sends the browser to another address, which it opens with GET unless `status` is 307. */
export const redirect = (response: ServerResponse, location: string, status = 303): void => {
  response.writeHead(status, { Location: location, 'Cache-Control': 'no-store', 'Content-Length': 0 }).end()
}
