import type { ValidateFunction } from 'ajv'
import type { createKeys } from './json-schema.js'

// Written by `npm run build` (bin/build.js) from the schema of the configuration.

export declare const server: ValidateFunction
export declare const auth: ValidateFunction
export declare const cluster: ValidateFunction
export declare const settings: ValidateFunction
/** The keys that each object of a file may have. */
export declare const KEYS: Readonly<ReturnType<typeof createKeys>>
