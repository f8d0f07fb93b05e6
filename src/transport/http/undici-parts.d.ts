// undici as a whole takes three times as long to load: it brings fetch, WebSockets, caches and mocks.
declare module 'undici/lib/dispatcher/agent.js' {
  import { Agent } from 'undici'
  export default Agent
}

declare module 'undici/lib/core/errors.js' {
  import { errors } from 'undici'
  export default errors
}
