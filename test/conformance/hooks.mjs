// The suite imports `globSync` from node:fs, which came with Node 22; none of the scenarios that run here
// calls it.
const SHIM = `data:text/javascript,${encodeURIComponent("export * from 'node:fs'; export const globSync = () => []")}`

export const resolve = (specifier, context, next) =>
  specifier === 'fs' && context.parentURL?.includes('/conformance/dist/')
    ? { url: SHIM, shortCircuit: true }
    : next(specifier, context)
