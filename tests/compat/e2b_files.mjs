// sandbox.files of the E2B SDK.
import { assert, sdk, sandboxTest, unique, user } from './support.mjs'

const { FileType } = sdk

sandboxTest('writes and reads text', async (sandbox) => {
  const info = await sandbox.files.write('hello.txt', 'hello wörld')
  assert.equal(info.name, 'hello.txt')
  assert.equal(info.path, '/home/user/hello.txt')
  assert.equal(info.type, 'file')
  assert.equal(await sandbox.files.read('hello.txt'), 'hello wörld')
  await sandbox.files.write('hello.txt', 'new')
  assert.equal(await sandbox.files.read('/home/user/hello.txt'), 'new')
})

sandboxTest('every kind of content', async (sandbox) => {
  const bytes = new Uint8Array([0, 1, 2, 253, 254, 255])
  await sandbox.files.write('b', bytes.buffer)
  assert.deepEqual(Buffer.from(await sandbox.files.read('b', { format: 'bytes' })), Buffer.from(bytes))
  await sandbox.files.write('c', new Blob(['blob']))
  assert.equal(await (await sandbox.files.read('c', { format: 'blob' })).text(), 'blob')
  await sandbox.files.write('d', new Blob(['stream']).stream())
  let text = ''
  for await (const piece of await sandbox.files.read('d', { format: 'stream' })) text += Buffer.from(piece).toString()
  assert.equal(text, 'stream')
  await sandbox.files.write('empty', '')
  assert.equal(await sandbox.files.read('empty'), '')
  assert.equal((await sandbox.files.read('empty', { format: 'bytes' })).length, 0)
})

sandboxTest('several files at once, into directories that are not there yet', async (sandbox) => {
  const infos = await sandbox.files.write([
    { path: 'a/b/one.txt', data: 'one' },
    { path: '/home/user/two words.txt', data: 'two' },
    { path: 'три.txt', data: 'three' },
  ])
  assert.deepEqual(infos.map((info) => info.path), ['/home/user/a/b/one.txt', '/home/user/two words.txt', '/home/user/три.txt'])
  assert.equal(await sandbox.files.read('a/b/one.txt'), 'one')
  assert.equal(await sandbox.files.read('три.txt'), 'three')
  assert.deepEqual(await sandbox.files.write([]), [])
})

sandboxTest('hundreds of files in one request', async (sandbox) => {
  const files = Array.from({ length: 200 }, (_, i) => ({ path: `many/${i}.txt`, data: `file ${i}` }))
  const infos = await sandbox.files.write(files)
  assert.equal(infos.length, 200)
  assert.equal(await sandbox.files.read('many/199.txt'), 'file 199')
})

sandboxTest('a big stream up and down', async (sandbox) => {
  const piece = new Uint8Array(1 << 20).map((_, i) => (i * 7) & 255)
  let left = 40
  const stream = new ReadableStream({ pull: (controller) => (left-- > 0 ? controller.enqueue(piece) : controller.close()) })
  await sandbox.files.write('big.bin', stream)
  const size = (await sandbox.commands.run('stat -c %s big.bin; sha256sum < big.bin')).stdout.split('\n')
  assert.equal(size[0], String(40 << 20))
  const { createHash } = await import('node:crypto')
  const expected = createHash('sha256')
  for (let i = 0; i < 40; i++) expected.update(piece)
  const wanted = expected.digest('hex')
  assert.equal(size[1].split(' ')[0], wanted)
  const down = createHash('sha256')
  for await (const part of await sandbox.files.read('big.bin', { format: 'stream' })) down.update(part)
  assert.equal(down.digest('hex'), wanted)
})

sandboxTest('compressed uploads', async (sandbox) => {
  await sandbox.files.write('gzip.txt', 'squeezed '.repeat(10_000), { gzip: true })
  assert.equal(await sandbox.files.read('gzip.txt', { gzip: true }), 'squeezed '.repeat(10_000))
})

sandboxTest('octet streams', async (sandbox) => {
  await sandbox.files.write('octets', 'raw', { useOctetStream: true })
  assert.equal(await sandbox.files.read('octets'), 'raw')
})

sandboxTest('what is not there', async (sandbox) => {
  await assert.rejects(sandbox.files.read('nowhere'), (error) => {
    assert.ok(error instanceof sdk.NotFoundError, String(error))
    assert.match(error.message, /path '\/home\/user\/nowhere' does not exist|does not exist/)
    return true
  })
  await assert.rejects(sandbox.files.list('nowhere'), sdk.NotFoundError)
  await assert.rejects(sandbox.files.getInfo('nowhere'), sdk.NotFoundError)
  await assert.rejects(sandbox.files.rename('nowhere', 'else'), sdk.NotFoundError)
  assert.equal(await sandbox.files.exists('nowhere'), false)
  await sandbox.files.remove('nowhere')
})

sandboxTest('directories are no files', async (sandbox) => {
  await sandbox.files.makeDir('folder')
  await assert.rejects(sandbox.files.read('folder'), sdk.InvalidArgumentError)
  await assert.rejects(sandbox.files.write('folder', 'x'), sdk.InvalidArgumentError)
  await sandbox.files.write('file', 'x')
  await assert.rejects(sandbox.files.list('file'), sdk.InvalidArgumentError)
  await assert.rejects(sandbox.files.makeDir('file'), sdk.InvalidArgumentError)
})

sandboxTest('directories: made once, listed, by depth', async (sandbox) => {
  const root = unique('tree')
  assert.equal(await sandbox.files.makeDir(`${root}/a/b`), true)
  assert.equal(await sandbox.files.makeDir(`${root}/a/b`), false)
  await sandbox.files.write(`${root}/file.txt`, 'x')
  await sandbox.files.write(`${root}/a/deep.txt`, 'y')
  const names = (entries) => entries.map((entry) => entry.path.replace(`/home/user/${root}/`, ''))
  assert.deepEqual(names(await sandbox.files.list(root)), ['a', 'file.txt'])
  assert.deepEqual(names(await sandbox.files.list(root, { depth: 2 })), ['a', 'a/b', 'a/deep.txt', 'file.txt'])
  assert.deepEqual((await sandbox.files.list(root)).map((entry) => entry.type), [FileType.DIR, FileType.FILE])
  await assert.rejects(sandbox.files.list(root, { depth: 0 }), sdk.InvalidArgumentError)
  await sandbox.files.remove(root)
  assert.equal(await sandbox.files.exists(root), false)
})

sandboxTest('a long list', async (sandbox) => {
  await sandbox.commands.run('mkdir long && cd long && seq -f "file-%05g" 1 5000 | xargs touch')
  const entries = await sandbox.files.list('long')
  assert.equal(entries.length, 5000)
  assert.equal(entries[4999].name, 'file-05000')
})

sandboxTest('what an entry says', async (sandbox) => {
  await sandbox.files.write('info.txt', '12345')
  const info = await sandbox.files.getInfo('info.txt')
  assert.equal(info.name, 'info.txt')
  assert.equal(info.path, '/home/user/info.txt')
  assert.equal(info.type, FileType.FILE)
  assert.equal(info.size, 5)
  assert.equal(info.mode, 0o644)
  assert.equal(info.permissions, '-rw-r--r--')
  assert.equal(info.owner, user)
  assert.equal(info.group, user)
  assert.ok(Math.abs(info.modifiedTime.getTime() - Date.now()) < 600_000)
  assert.equal(info.symlinkTarget, undefined)
})

sandboxTest('links', async (sandbox) => {
  await sandbox.files.write('target.txt', 'through the link')
  await sandbox.commands.run('ln -s target.txt link; ln -s /nowhere broken; mkdir d; ln -s d dirlink; touch d/inside')
  const info = await sandbox.files.getInfo('link')
  assert.equal(info.type, FileType.FILE)
  assert.equal(info.symlinkTarget, '/home/user/target.txt')
  assert.match(info.permissions, /^L/)
  assert.equal(await sandbox.files.read('link'), 'through the link')
  assert.deepEqual((await sandbox.files.list('dirlink')).map((entry) => entry.path), ['/home/user/dirlink/inside'])
})

sandboxTest('rename', async (sandbox) => {
  await sandbox.files.write('old.txt', 'moved')
  const info = await sandbox.files.rename('old.txt', 'somewhere/else/new.txt')
  assert.equal(info.path, '/home/user/somewhere/else/new.txt')
  assert.equal(await sandbox.files.exists('old.txt'), false)
  assert.equal(await sandbox.files.read('somewhere/else/new.txt'), 'moved')
})

sandboxTest('users and their homes', async (sandbox) => {
  await sandbox.files.write('owned.txt', 'x', { user: 'root' })
  assert.equal((await sandbox.files.getInfo('/root/owned.txt', { user: 'root' })).owner, 'root')
  await assert.rejects(sandbox.files.read('x', { user: 'nobody-at-all' }), sdk.AuthenticationError)
  await assert.rejects(sandbox.files.list('/', { user: 'nobody-at-all' }), sdk.AuthenticationError)
})

sandboxTest('metadata is kept, moved, listed and replaced', async (sandbox) => {
  const info = await sandbox.files.write('tagged.txt', 'x', { metadata: { author: 'mish', purpose: 'test' } })
  assert.deepEqual(info.metadata, { author: 'mish', purpose: 'test' })
  assert.deepEqual((await sandbox.files.getInfo('tagged.txt')).metadata, { author: 'mish', purpose: 'test' })
  assert.deepEqual((await sandbox.files.rename('tagged.txt', 'tagged2.txt')).metadata, { author: 'mish', purpose: 'test' })
  assert.deepEqual((await sandbox.files.list('.')).find((entry) => entry.name === 'tagged2.txt').metadata, { author: 'mish', purpose: 'test' })
  await sandbox.files.write('tagged2.txt', 'y')
  assert.equal((await sandbox.files.getInfo('tagged2.txt')).metadata, undefined)
  await sandbox.commands.run(`python3 -c "import os; os.setxattr('tagged2.txt', 'user.e2b.by', b'hand')"`)
  assert.deepEqual((await sandbox.files.getInfo('tagged2.txt')).metadata, { by: 'hand' })
})

sandboxTest('files that are made while one reads them', async (sandbox) => {
  assert.match(await sandbox.files.read('/proc/self/status'), /^Name:/)
})
