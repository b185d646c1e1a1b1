// The life of a sandbox as the E2B SDK sees it: create, connect, time, pause, resume, kill.
import { assert, sdk, test, sandboxTest, Sandbox, eventually, wait, preview } from './support.mjs'

test('create, use, kill', async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 60_000 })
  assert.match(sandbox.sandboxId, /^[a-z0-9]+$/)
  assert.equal(await sandbox.isRunning(), true)
  assert.equal(await sandbox.kill(), true)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await sandbox.kill(), false)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
})

sandboxTest('what a sandbox says of itself', { metadata: { purpose: 'info' } }, async (sandbox) => {
  const info = await sandbox.getInfo()
  assert.equal(info.sandboxId, sandbox.sandboxId)
  assert.equal(info.state, 'running')
  assert.deepEqual(info.metadata, { purpose: 'info' })
  assert.ok(info.templateId)
  assert.equal(info.name, 'base')
  assert.ok(info.endAt > info.startedAt)
  assert.ok(info.cpuCount >= 1 && info.memoryMB > 0)
  assert.deepEqual(info.lifecycle, { onTimeout: 'kill', autoResume: false })
})

test('what does not exist', async () => {
  await assert.rejects(Sandbox.getInfo('nosuchsandbox0000000'), sdk.SandboxNotFoundError)
  await assert.rejects(Sandbox.connect('nosuchsandbox0000000'), sdk.SandboxNotFoundError)
  await assert.rejects(Sandbox.setTimeout('nosuchsandbox0000000', 1000), sdk.SandboxNotFoundError)
  await assert.rejects(Sandbox.create('no-such-template'), (error) => error instanceof sdk.SandboxError && /404/.test(error.message))
})

test('a wrong key', async () => {
  const apiKey = `e2b_${'0'.repeat(40)}`
  await assert.rejects(Sandbox.create('base', { apiKey }), sdk.AuthenticationError)
  await assert.rejects(Sandbox.list({ apiKey }).nextItems(), sdk.AuthenticationError)
})

sandboxTest('a wrong access token', async (sandbox) => {
  const answer = await fetch(`${process.env.E2B_SANDBOX_URL}/process.Process/List`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '49983', 'X-Access-Token': 'wrong' },
    body: '{}',
  })
  assert.equal(answer.status, 401)
})

sandboxTest('the timeout: shortened, and then it is gone', async (sandbox) => {
  await sandbox.setTimeout(2000)
  await eventually(async () => !(await sandbox.isRunning()), 'the end')
  await assert.rejects(sandbox.getInfo(), sdk.SandboxNotFoundError)
})

sandboxTest('the timeout: a connect only makes it longer', async (sandbox) => {
  const before = await sandbox.getInfo()
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 1000 })
  assert.deepEqual((await sandbox.getInfo()).endAt, before.endAt)
  await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
  assert.ok((await sandbox.getInfo()).endAt > before.endAt)
})

sandboxTest('connected from elsewhere', async (sandbox) => {
  await sandbox.files.write('shared.txt', 'seen by both')
  const other = await Sandbox.connect(sandbox.sandboxId)
  assert.equal(await other.files.read('shared.txt'), 'seen by both')
})

sandboxTest('pause keeps files, processes and their ids', { envs: { KEPT: 'yes' } }, async (sandbox) => {
  const command = await sandbox.commands.run('while true; do date +%s%N > tick; sleep 0.1; done', { background: true })
  await sandbox.files.write('kept.txt', 'kept')
  assert.equal(await sandbox.pause(), true)
  assert.equal(await sandbox.isRunning(), false)
  assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'paused')
  assert.equal(await sandbox.pause(), false)
  await assert.rejects(sandbox.commands.run('true'))
  await sandbox.connect()
  assert.equal(await sandbox.isRunning(), true)
  assert.ok((await sandbox.commands.list()).some((process) => process.pid === command.pid))
  assert.equal(await sandbox.files.read('kept.txt'), 'kept')
  assert.equal((await sandbox.commands.run('echo $KEPT')).stdout.trim(), 'yes')
  const again = await sandbox.commands.connect(command.pid)
  const first = await sandbox.files.read('tick')
  await eventually(async () => (await sandbox.files.read('tick')) !== first, 'it goes on')
  await again.kill()
})

sandboxTest('pause without memory boots anew with the same files', async (sandbox) => {
  await sandbox.files.write('/home/user/kept.txt', 'kept')
  const boot = async () => (await sandbox.commands.run('cat /proc/sys/kernel/random/boot_id')).stdout.trim()
  const before = await boot()
  await sandbox.pause({ keepMemory: false })
  await sandbox.connect()
  assert.equal(await sandbox.files.read('/home/user/kept.txt'), 'kept')
  assert.notEqual(await boot(), before)
})

sandboxTest('a paused sandbox can be killed', async (sandbox) => {
  await sandbox.pause()
  assert.equal(await sandbox.kill(), true)
  await assert.rejects(sandbox.connect(), sdk.SandboxNotFoundError)
})

sandboxTest('the timeout pauses where that was asked for, and a request wakes it', { timeoutMs: 2000, lifecycle: { onTimeout: 'pause', autoResume: true } }, async (sandbox) => {
  await sandbox.files.write('kept.txt', 'kept')
  await eventually(async () => (await Sandbox.getInfo(sandbox.sandboxId)).state === 'paused', 'the pause')
  assert.equal(await sandbox.files.read('kept.txt'), 'kept')
  assert.equal((await Sandbox.getInfo(sandbox.sandboxId)).state, 'running')
})

sandboxTest('the timeout pauses, and without auto-resume it stays asleep', { timeoutMs: 1000, lifecycle: { onTimeout: 'pause' } }, async (sandbox) => {
  await eventually(async () => (await Sandbox.getInfo(sandbox.sandboxId)).state === 'paused', 'the pause')
  assert.equal(await sandbox.isRunning(), false)
  await sandbox.connect({ timeoutMs: 60_000 })
  assert.equal(await sandbox.isRunning(), true)
})

sandboxTest('previews: a server inside, reached by its host name', async (sandbox) => {
  assert.match(sandbox.getHost(8000), new RegExp(`^8000-${sandbox.sandboxId}\\.`))
  await sandbox.files.write('www/index.html', 'hello from inside')
  await sandbox.commands.run('cd www && python3 -m http.server 8000', { background: true, timeoutMs: 0 })
  const page = await eventually(async () => {
    const answer = await preview(sandbox, 8000)
    return answer.status === 200 && answer
  }, 'the page')
  assert.equal(page.text, 'hello from inside')
  const closed = await preview(sandbox, 8001)
  assert.equal(closed.status, 502)
})

sandboxTest('previews with a traffic token', { network: { allowPublicTraffic: false, maskRequestHost: 'masked.example:${PORT}' } }, async (sandbox) => {
  assert.ok(sandbox.trafficAccessToken)
  const program = 'import http.server\nclass H(http.server.BaseHTTPRequestHandler):\n def do_GET(s):\n  s.send_response(200); s.end_headers(); s.wfile.write(s.headers["Host"].encode())\nhttp.server.HTTPServer(("",8080),H).serve_forever()'
  await sandbox.files.write('server.py', program)
  await sandbox.commands.run('python3 server.py', { background: true, timeoutMs: 0 })
  assert.equal((await preview(sandbox, 8080)).status, 403)
  const headers = { 'e2b-traffic-access-token': sandbox.trafficAccessToken }
  const page = await eventually(async () => {
    const answer = await preview(sandbox, 8080, { headers })
    return answer.status === 200 && answer
  }, 'the page')
  assert.equal(page.text, 'masked.example:8080')
  assert.equal(await sandbox.isRunning(), true)
})

sandboxTest('metrics come', async (sandbox) => {
  const metrics = await eventually(async () => {
    const list = await sandbox.getMetrics()
    return list.length > 0 && list
  }, 'metrics', 30_000)
  for (const name of ['cpuCount', 'cpuUsedPct', 'memUsed', 'memTotal', 'diskUsed', 'diskTotal']) assert.equal(typeof metrics[0][name], 'number', name)
  const long_ago = await sandbox.getMetrics({ start: new Date(Date.now() - 7_200_000), end: new Date(Date.now() - 3_700_000) })
  assert.deepEqual(long_ago, [])
})

test('twenty at once', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => Sandbox.create({ timeoutMs: 120_000 })))
  const said = await Promise.all(all.map((sandbox, i) => sandbox.commands.run(`echo ${i}`)))
  assert.deepEqual(said.map((result) => result.stdout.trim()), all.map((_, i) => String(i)))
  assert.equal(new Set(all.map((sandbox) => sandbox.sandboxId)).size, 20)
  await Promise.all(all.map((sandbox) => sandbox.kill()))
  await wait(0)
})
