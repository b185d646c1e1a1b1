// downloadUrl and uploadUrl of the E2B SDK: files by link.
import { assert, sandboxTest } from './support.mjs'

sandboxTest('a link downloads, and only what it was made for', async (sandbox) => {
  await sandbox.files.write('hello.txt', 'hello world')
  const link = await sandbox.downloadUrl('hello.txt', { useSignatureExpiration: 10_000 })
  const answer = await fetch(link)
  assert.equal(answer.status, 200)
  assert.equal(await answer.text(), 'hello world')
  const other = new URL(link)
  other.searchParams.set('path', '/etc/passwd')
  assert.equal((await fetch(other)).status, 401)
  const forever = await fetch(await sandbox.downloadUrl('hello.txt'))
  assert.equal(forever.status, 200)
})

sandboxTest('an expired link', async (sandbox) => {
  await sandbox.files.write('hello.txt', 'hello world')
  const answer = await fetch(await sandbox.downloadUrl('hello.txt', { useSignatureExpiration: -10_000 }))
  assert.equal(answer.status, 401)
  assert.deepEqual(await answer.json(), { code: 401, message: 'signature is already expired' })
})

sandboxTest('a link uploads', async (sandbox) => {
  const link = await sandbox.uploadUrl('up.txt', { useSignatureExpiration: 10_000 })
  const form = new FormData()
  form.append('file', 'file content')
  const answer = await fetch(link, { method: 'POST', body: form })
  assert.equal(answer.status, 200)
  assert.deepEqual(await answer.json(), [{ name: 'up.txt', type: 'file', path: '/home/user/up.txt' }])
  assert.equal(await sandbox.files.read('up.txt'), 'file content')
})

sandboxTest('without token and signature there is nothing', async (sandbox) => {
  const headers = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '49983' }
  const answer = await fetch(`${process.env.E2B_SANDBOX_URL}/files?path=/etc/passwd`, { headers })
  assert.equal(answer.status, 401)
  assert.deepEqual(await answer.json(), { code: 401, message: 'missing signature query parameter' })
})

sandboxTest('parts of a file', async (sandbox) => {
  await sandbox.files.write('digits', '0123456789')
  const link = await sandbox.downloadUrl('digits')
  const part = await fetch(link, { headers: { Range: 'bytes=2-4' } })
  assert.equal(part.status, 206)
  assert.equal(part.headers.get('content-range'), 'bytes 2-4/10')
  assert.equal(await part.text(), '234')
  assert.equal(await (await fetch(link, { headers: { Range: 'bytes=-3' } })).text(), '789')
  assert.equal((await fetch(link, { headers: { Range: 'bytes=50-' } })).status, 416)
})

sandboxTest('browsers may ask', async (sandbox) => {
  const answer = await fetch(`${process.env.E2B_SANDBOX_URL}/process.Process/List`, {
    method: 'OPTIONS',
    headers: { 'E2b-Sandbox-Id': sandbox.sandboxId, Origin: 'http://page.example', 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'content-type,x-access-token' },
  })
  assert.equal(answer.status, 204)
  assert.equal(answer.headers.get('access-control-allow-origin'), '*')
})
