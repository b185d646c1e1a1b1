// The little that every tested version of the SDK must do: for the version matrix.
import { assert, test, Sandbox, version } from './support.mjs'

test(`e2b ${version}: create, connect, run, files, pause, list, kill`, async () => {
  const sandbox = await Sandbox.create({ timeoutMs: 120_000, metadata: { version }, envs: { WHO: 'matrix' } })
  try {
    assert.equal((await sandbox.commands.run('echo $WHO')).stdout, 'matrix\n')
    const other = await Sandbox.connect(sandbox.sandboxId)
    await other.files.write('dir/hello.txt', 'hello')
    assert.equal(await sandbox.files.read('dir/hello.txt'), 'hello')
    assert.deepEqual((await sandbox.files.list('dir')).map((entry) => entry.name), ['hello.txt'])
    const background = await sandbox.commands.run('sleep 1000', { background: true })
    assert.equal(await sandbox.commands.kill(background.pid), true)
    const pause = sandbox.pause ?? sandbox.betaPause
    if (pause) {
      await pause.call(sandbox)
      assert.equal(await sandbox.isRunning(), false)
      await Sandbox.connect(sandbox.sandboxId)
      assert.equal(await sandbox.isRunning(), true)
    }
    const listed = await Sandbox.list({ query: { metadata: { version } } }).nextItems()
    assert.ok(listed.some((one) => one.sandboxId === sandbox.sandboxId))
    assert.equal((await sandbox.getInfo()).sandboxId, sandbox.sandboxId)
    await sandbox.setTimeout(60_000)
  } finally {
    await sandbox.kill()
  }
  assert.equal(await sandbox.isRunning(), false)
  assert.equal(await Sandbox.kill(sandbox.sandboxId), false)
})
