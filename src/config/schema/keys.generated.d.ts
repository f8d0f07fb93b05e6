import type { createKeys } from './json-schema.js'

// Written by `npm run build` (bin/build.mjs) from the schema of the configuration.

/** The keys that each object of a file may have. */
export declare const KEYS: Readonly<ReturnType<typeof createKeys>>
