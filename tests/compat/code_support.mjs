// What the tests of @e2b/code-interpreter share; the environment is that of support.mjs.
import { createRequire } from 'node:module'
import path from 'node:path'
import { assert, test, wait } from './support.mjs'

export { assert, test, wait }

const require = createRequire(path.join(process.env.E2B_MODULES, 'package.json'))
export const { Sandbox, TimeoutError, NotFoundError } = require('@e2b/code-interpreter')

// A test with a sandbox of its own.
export function codeTest(name, options, body) {
  if (typeof options === 'function') [options, body] = [{}, options]
  test(name, async () => {
    const sandbox = await Sandbox.create({ timeoutMs: 120_000, ...options })
    try {
      await body(sandbox)
    } finally {
      await sandbox.kill().catch(() => {})
    }
  })
}
