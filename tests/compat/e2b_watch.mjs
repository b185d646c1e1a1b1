// sandbox.files.watchDir of the E2B SDK.
import { assert, sdk, sandboxTest, eventually } from './support.mjs'

const { FilesystemEventType: Type } = sdk

sandboxTest('changes in a directory', async (sandbox) => {
  await sandbox.files.makeDir('watched')
  const events = []
  const handle = await sandbox.files.watchDir('watched', (event) => events.push(event))
  const saw = (type, name) => eventually(() => events.some((event) => event.type === type && event.name === name), `${type} ${name} in ${JSON.stringify(events)}`)
  await sandbox.files.write('watched/a.txt', 'x')
  await saw(Type.CREATE, 'a.txt')
  await saw(Type.WRITE, 'a.txt')
  await sandbox.commands.run('chmod 600 watched/a.txt')
  await saw(Type.CHMOD, 'a.txt')
  await sandbox.files.rename('watched/a.txt', 'watched/b.txt')
  await saw(Type.RENAME, 'a.txt')
  await saw(Type.CREATE, 'b.txt')
  await sandbox.files.remove('watched/b.txt')
  await saw(Type.REMOVE, 'b.txt')
  await handle.stop()
})

sandboxTest('changes beneath, also in directories that are new', async (sandbox) => {
  await sandbox.files.makeDir('watched')
  const events = []
  const handle = await sandbox.files.watchDir('watched', (event) => events.push(event), { recursive: true })
  await sandbox.commands.run('mkdir -p watched/x/y && echo hi > watched/x/y/deep.txt')
  await eventually(() => events.some((event) => event.name === 'x/y/deep.txt'), `the deep file in ${JSON.stringify(events)}`)
  await handle.stop()
})

sandboxTest('events carry their entry when asked', async (sandbox) => {
  await sandbox.files.makeDir('watched')
  const events = []
  const handle = await sandbox.files.watchDir('watched', (event) => events.push(event), { includeEntry: true })
  await sandbox.files.write('watched/a.txt', 'x')
  const event = await eventually(() => events.find((one) => one.type === Type.WRITE && one.entry), `an entry in ${JSON.stringify(events)}`)
  assert.equal(event.entry.path, '/home/user/watched/a.txt')
  await handle.stop()
})

sandboxTest('what cannot be watched', async (sandbox) => {
  await assert.rejects(sandbox.files.watchDir('nowhere', () => {}), sdk.NotFoundError)
  await sandbox.files.write('file', 'x')
  await assert.rejects(sandbox.files.watchDir('file', () => {}), sdk.InvalidArgumentError)
})

sandboxTest('a watch ends at its timeout and when told to', async (sandbox) => {
  await sandbox.files.makeDir('watched')
  let ended = 0
  await sandbox.files.watchDir('watched', () => {}, { timeoutMs: 1000, onExit: () => ended++ })
  await eventually(() => ended === 1, 'the timeout')
  const handle = await sandbox.files.watchDir('watched', () => {}, { onExit: () => ended++ })
  await handle.stop()
  await eventually(() => ended === 2, 'the end')
})
