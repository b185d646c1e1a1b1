// Snapshots, forks and volumes of the E2B SDK.
import { assert, sdk, test, sandboxTest, Sandbox, unique } from './support.mjs'

sandboxTest('a snapshot is what new sandboxes start from', async (sandbox) => {
  await sandbox.files.write('/home/user/state.txt', 'before')
  const snapshot = await sandbox.createSnapshot()
  await sandbox.files.write('/home/user/state.txt', 'after')
  const made = await Promise.all([Sandbox.create(snapshot.snapshotId), Sandbox.create(snapshot.snapshotId)])
  try {
    for (const one of made) assert.equal(await one.files.read('/home/user/state.txt'), 'before')
    await made[0].files.write('/home/user/state.txt', 'changed')
    assert.equal(await made[1].files.read('/home/user/state.txt'), 'before')
    assert.equal(await sandbox.files.read('/home/user/state.txt'), 'after')
  } finally {
    await Promise.all(made.map((one) => one.kill()))
    assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), true)
    assert.equal(await Sandbox.deleteSnapshot(snapshot.snapshotId), false)
  }
})

sandboxTest('snapshots have names and are listed', async (sandbox) => {
  const name = unique('snap')
  const named = await sandbox.createSnapshot({ name: `${name}:v1` })
  const plain = await sandbox.createSnapshot()
  try {
    assert.ok(named.names.some((one) => one.includes(name)))
    const has = async (paginator, snapshot) => (await paginator.nextItems()).some((one) => one.snapshotId === snapshot.snapshotId)
    assert.ok(await has(Sandbox.listSnapshots(), named))
    assert.ok(await has(sandbox.listSnapshots(), plain))
    assert.ok(await has(Sandbox.listSnapshots({ name }), named))
    assert.deepEqual(await Sandbox.listSnapshots({ name: `${name}-not` }).nextItems(), [])
    const pages = sandbox.listSnapshots({ limit: 1 })
    const first = await pages.nextItems(), second = await pages.nextItems()
    assert.equal(new Set([...first, ...second].map((one) => one.snapshotId)).size, 2)
    assert.equal(pages.hasNext, false)
    const made = await Sandbox.create(named.snapshotId)
    await made.kill()
  } finally {
    await Sandbox.deleteSnapshot(named.snapshotId)
    await Sandbox.deleteSnapshot(plain.snapshotId)
  }
})

sandboxTest('forks', async (sandbox) => {
  await sandbox.files.write('/home/user/state.txt', 'before')
  const before = await sandbox.getInfo()
  const forks = await sandbox.fork({ count: 2, timeoutMs: 60_000 })
  try {
    assert.equal(forks.length, 2)
    for (const fork of forks) {
      assert.ok(fork instanceof Sandbox, String(fork))
      assert.notEqual(fork.sandboxId, sandbox.sandboxId)
      assert.equal(await fork.files.read('/home/user/state.txt'), 'before')
      await fork.files.write('/home/user/state.txt', 'fork')
    }
    assert.equal(await sandbox.files.read('/home/user/state.txt'), 'before')
    assert.deepEqual((await sandbox.getInfo()).endAt, before.endAt)
  } finally {
    await Promise.all(forks.map((fork) => fork.kill()))
  }
})

test('a sandbox that is gone cannot be forked', async () => {
  const sandbox = await Sandbox.create()
  await sandbox.kill()
  await assert.rejects(sandbox.fork(), sdk.SandboxNotFoundError)
})

test('volumes: made, filled from outside, used inside, removed', { skip: !sdk.Volume }, async () => {
  const name = unique('vol')
  const volume = await sdk.Volume.create(name)
  const apiUrl = process.env.E2B_API_URL
  let sandbox
  try {
    assert.ok((await sdk.Volume.list()).some((one) => one.volumeId === volume.volumeId))
    assert.equal((await sdk.Volume.getInfo(volume.volumeId)).name, name)
    await volume.makeDir('/data/deep', { force: true, apiUrl })
    const written = await volume.writeFile('/data/from-outside.txt', 'hello', { apiUrl })
    assert.equal(written.size, 5)
    assert.equal(await volume.readFile('/data/from-outside.txt', { apiUrl }), 'hello')
    await assert.rejects(volume.writeFile('/data/from-outside.txt', 'again', { apiUrl }), sdk.VolumeError)
    await volume.writeFile('/data/from-outside.txt', 'again', { force: true, apiUrl })
    assert.deepEqual((await volume.list('/data', { apiUrl })).map((entry) => entry.name), ['deep', 'from-outside.txt'])
    assert.equal(await volume.exists('/nowhere', { apiUrl }), false)
    await assert.rejects(volume.readFile('/../../etc/passwd', { apiUrl }))
    sandbox = await Sandbox.create('base', { volumeMounts: { '/mnt/vol': volume } })
    assert.equal(await sandbox.files.read('/mnt/vol/data/from-outside.txt'), 'again')
    await sandbox.commands.run('echo inside > /mnt/vol/from-inside.txt; ln -s /etc/passwd /mnt/vol/link', { user: 'root' })
    assert.equal(await volume.readFile('/from-inside.txt', { apiUrl }), 'inside\n')
    await assert.rejects(volume.readFile('/link', { apiUrl }))
    await volume.remove('/data', { apiUrl })
    assert.equal(await volume.exists('/data', { apiUrl }), false)
  } finally {
    if (sandbox) await sandbox.kill()
    assert.equal(await sdk.Volume.destroy(volume.volumeId), true)
  }
  assert.equal(await sdk.Volume.destroy(volume.volumeId), false)
})
