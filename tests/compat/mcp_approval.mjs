// A call that needs somebody's word asks the user of the client, by elicitation.
import assert from 'node:assert/strict'
import test from 'node:test'
import { call, connect, textOf } from './mcp_support.mjs'

test('an approved call is made, and the user saw what it is', async () => {
  const asked = []
  const client = await connect({ elicit: async request => { asked.push(request.params.message); return { action: 'accept', content: { approve: true } } } })
  try {
    const result = await call(client, 'run_command', { command: 'echo approved' })
    assert.equal(result.structuredContent?.stdout, 'approved\n', textOf(result))
    assert.equal(asked.length, 1)
    assert.match(asked[0], /run_command/)
    assert.match(asked[0], /echo approved/)
  } finally {
    await client.close()
  }
})

test('a declined call is not made', async () => {
  const client = await connect({ elicit: async () => ({ action: 'decline' }) })
  try {
    const result = await call(client, 'run_command', { command: 'echo never' })
    assert.equal(result.isError, true)
    assert.doesNotMatch(textOf(result), /^never/m)
    assert.match(textOf(result), /run_command/)
  } finally {
    await client.close()
  }
})
