import type { CheckedSchema } from './violations.js'

// Written by `npm run build` (bin/build.mjs) from the schema of the configuration.

/** The schemas of the parts of a configuration. */
export declare const SCHEMAS: Readonly<Record<'server' | 'settings' | 'auth' | 'cluster', CheckedSchema>>
