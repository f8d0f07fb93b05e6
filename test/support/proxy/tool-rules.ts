import { readFileSync, writeFileSync } from 'node:fs'
import type { Test } from 'tap'
import { configFile, tiny } from './start.js'

/**
 * Writes a configuration with comments: `gh` shows all of its tools, `fig` hides `fail` and a pattern, and
 * `few` allows only `echo`. `more` is added to each server.
 */
export const toolRulesFile = (t: Test, more: object = {}) => {
  const file = configFile(t, {})
  const program = JSON.stringify({ ...tiny(), ...more }).slice(1, -1)
  const lines = [
    '{',
    '  // all servers',
    '  "mcpServers": {',
    `    "gh": { ${program}, "prefix": "g" }, // main`,
    '    "fig": {',
    `      ${program},`,
    '      "tools": {',
    '        "deny": [',
    '          // dangerous',
    '          "fail", // fails',
    '          "ref*"',
    '        ],',
    '        "rename": { "echo": "say" }',
    '      }',
    '    },',
    `    "few": { ${program}, "tools": { "allow": ["echo"] } }`,
    '  }',
    '}',
  ]
  const before = `${lines.join('\n')}\n`
  writeFileSync(file, before)
  return { file, before, text: () => readFileSync(file, 'utf8') }
}
