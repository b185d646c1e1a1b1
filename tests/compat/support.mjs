// What the tests of the real npm packages share. Which packages, and where the server is, the environment says:
//   E2B_MODULES (a folder with node_modules), E2B_API_KEY, E2B_API_URL, E2B_SANDBOX_URL, COMPAT_ONE_ID (see below)
import { createRequire } from 'node:module'
import { test as nodeTest } from 'node:test'
import assert from 'node:assert/strict'
import path from 'node:path'

export { assert }

const require = createRequire(path.join(process.env.E2B_MODULES, 'package.json'))
export const sdk = require('e2b')
export const { Sandbox } = sdk
export const version = require('e2b/package.json').version
// A server of an ordinary user without subordinate ids has one id inside: `user` is root there (docs/e2b.md).
export const user = process.env.COMPAT_ONE_ID ? 'root' : 'user'

export const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// Polls until `look` gives something true. Tests wait for what happens, not for a time.
export async function eventually(look, what, ms = 15_000) {
  const end = Date.now() + ms
  while (true) {
    const seen = await look()
    if (seen) return seen
    if (Date.now() > end) assert.fail(`never happened: ${what}`)
    await wait(50)
  }
}

export const test = (name, body) => nodeTest(name, { timeout: 120_000 }, body)

// A test with a sandbox of its own.
export function sandboxTest(name, options, body) {
  if (typeof options === 'function') [options, body] = [{}, options]
  test(name, async (t) => {
    const sandbox = await Sandbox.create('base', { timeoutMs: 120_000, ...options })
    try {
      await body(sandbox, t)
    } finally {
      await sandbox.kill().catch(() => {})
    }
  })
}

export const unique = (name) => `${name}-${Math.random().toString(36).slice(2, 10)}`

// A preview as a browser would ask for it, by the Host header (no DNS needed).
export async function preview(sandbox, port, { path: where = '/', headers = {} } = {}) {
  const http = await import('node:http')
  const target = new URL(process.env.E2B_API_URL)
  return await new Promise((resolve, reject) => {
    const request = http.request(
      { host: target.hostname, port: target.port, path: where, headers: { Host: `${port}-${sandbox.sandboxId}.localhost`, ...headers } },
      (answer) => {
        let text = ''
        answer.on('data', (piece) => (text += piece))
        answer.on('end', () => resolve({ status: answer.statusCode, text, headers: answer.headers }))
        answer.on('error', reject)
      }
    )
    request.on('error', reject)
    request.end()
  })
}
