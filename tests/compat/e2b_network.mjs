// Network options of the E2B SDK. Nothing outside is asked for: what is judged is who is refused, and what is told.
import { assert, sdk, test, sandboxTest, Sandbox } from './support.mjs'

const denied = async (sandbox, url) => {
  const result = await sandbox.commands.run(`curl --noproxy '*' --connect-timeout 3 --max-time 5 -sS -o /dev/null -w '%{http_code}' ${url}`).catch((error) => error)
  return result.exitCode !== 0 || result.stdout === '403'
}

sandboxTest('no internet', { allowInternetAccess: false }, async (sandbox) => {
  assert.ok(await denied(sandbox, 'https://1.1.1.1'))
  assert.ok(await denied(sandbox, 'https://example.com'))
  assert.equal((await sandbox.getInfo()).allowInternetAccess, false)
})

sandboxTest('deny all but one', { network: { denyOut: ['0.0.0.0/0'], allowOut: ['192.0.2.7'] } }, async (sandbox) => {
  assert.ok(await denied(sandbox, 'https://1.1.1.1'))
  const info = await sandbox.getInfo()
  assert.deepEqual(info.network.allowOut, ['192.0.2.7'])
  assert.deepEqual(info.network.denyOut, ['0.0.0.0/0'])
})

sandboxTest('rules are replaced while it runs', async (sandbox) => {
  await sandbox.updateNetwork({ denyOut: ['0.0.0.0/0'], allowOut: ['198.51.100.0/24'] })
  assert.deepEqual((await sandbox.getInfo()).network.denyOut, ['0.0.0.0/0'])
  assert.ok(await denied(sandbox, 'https://1.1.1.1'))
  await sandbox.updateNetwork({})
  assert.equal((await sandbox.getInfo()).network?.denyOut, undefined)
})

sandboxTest('a sandbox without internet can get it later', { allowInternetAccess: false }, async (sandbox) => {
  await sandbox.updateNetwork({ allowInternetAccess: true })
  assert.equal((await sandbox.getInfo()).allowInternetAccess, true)
})

sandboxTest('loopback inside is its own', async (sandbox) => {
  await sandbox.commands.run('python3 -m http.server 9000 -d /tmp', { background: true, timeoutMs: 0 })
  const result = await sandbox.commands.run("for i in $(seq 50); do curl --noproxy '*' -s -o /dev/null -w '%{http_code}' http://127.0.0.1:9000/ && break; sleep 0.1; done")
  assert.match(result.stdout, /200$/)
})

test('what is refused, and why', async () => {
  const refused = (network, words) => assert.rejects(Sandbox.create('base', { network }), (error) => {
    assert.ok(error instanceof sdk.SandboxError, String(error))
    assert.match(error.message, words)
    return true
  })
  await refused({ denyOut: ['example.com'] }, /invalid denied CIDR example\.com/)
  await refused({ allowOut: ['example.com'] }, /0\.0\.0\.0\/0/)
  await refused({ egressProxy: { address: 'proxy.example:1080' } }, /egressProxy/)
})
