import type { ValidateFunction } from 'ajv'

// Written by `npm run build` (bin/build.mjs) from the schema of the configuration.

export declare const server: ValidateFunction
export declare const auth: ValidateFunction
export declare const cluster: ValidateFunction
export declare const settings: ValidateFunction
