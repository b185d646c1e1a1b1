// Templates of the E2B SDK: the builder, its errors, tags.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after } from 'node:test'
import { assert, sdk, test, Sandbox, unique } from './support.mjs'

const { Template, waitForPort, waitForFile, waitForTimeout } = sdk

const context = fs.mkdtempSync(path.join(os.tmpdir(), 'compat-template-'))
fs.mkdirSync(path.join(context, 'folder'))
fs.writeFileSync(path.join(context, 'folder', 'test.txt'), 'This is a test file.')
fs.symlinkSync('test.txt', path.join(context, 'folder', 'symlink.txt'))
fs.symlinkSync('nowhere', path.join(context, 'folder', 'dangling.txt'))
fs.mkdirSync(path.join(context, 'tree', 'deep'), { recursive: true })
fs.writeFileSync(path.join(context, 'tree', 'deep', 'leaf.txt'), 'leaf')
fs.symlinkSync('deep/leaf.txt', path.join(context, 'tree', 'link.txt'))
after(() => fs.rmSync(context, { recursive: true, force: true }))

// Builds, hands over a sandbox made from it, and removes both.
async function built(template, body, options = {}) {
  const name = unique('compat')
  const logs = []
  const info = await Template.build(template, name, { ...options, onBuildLogs: (entry) => logs.push(entry.message) })
  const sandbox = body ? await Sandbox.create(name) : undefined
  try {
    if (body) await body(sandbox, info, logs)
  } finally {
    await sandbox?.kill()
    assert.equal(await Sandbox.deleteSnapshot(info.templateId), true)
  }
  return { info, logs }
}

const run = async (sandbox, command) => (await sandbox.commands.run(command)).stdout.trim()

test('a template is built step by step, and sandboxes begin with it', async () => {
  const template = Template({ fileContextPath: context })
    .fromBaseImage()
    .copy('folder/*', 'folder', { forceUpload: true })
    .runCmd('cat folder/test.txt folder/symlink.txt')
    .setEnvs({ GREETING: 'hello world' })
    .setWorkdir('/app')
    .runCmd('echo "$GREETING" > greeting')
  await built(template, async (sandbox, info, logs) => {
    assert.ok(logs.some((line) => line.includes('This is a test file.')))
    assert.equal(await run(sandbox, 'pwd'), '/app')
    assert.equal(await run(sandbox, 'cat greeting; echo $GREETING'), 'hello world\nhello world')
    assert.equal(await run(sandbox, 'cat /home/user/folder/test.txt; readlink /home/user/folder/dangling.txt'), 'This is a test file.nowhere')
  }, { skipCache: true })
})

test('copies keep links, resolve them when asked, and set modes', async () => {
  const template = Template({ fileContextPath: context })
    .fromTemplate('base')
    .copy('folder/symlink.txt', 'plain.txt', { resolveSymlinks: true })
    .copy('folder/test.txt', '/srv/deep/er/', { mode: 0o600, user: 'root' })
    .copy('tree', 'whole')
  await built(template, async (sandbox) => {
    assert.equal(await run(sandbox, 'test ! -L plain.txt && cat plain.txt'), 'This is a test file.')
    assert.equal(await run(sandbox, 'stat -c "%a %U" /srv/deep/er/test.txt'), '600 root')
    assert.equal(await run(sandbox, 'readlink whole/link.txt && cat whole/link.txt'), 'deep/leaf.txt\nleaf')
  })
})

test('the helpers of the builder are commands', async () => {
  const template = Template()
    .fromBaseImage()
    .makeDir('made', { mode: 0o750 })
    .runCmd(['echo 1 > made/a', 'echo 2 > made/b'])
    .rename('made/a', 'made/c')
    .remove('made/b')
    .makeSymlink('made/c', 'link')
    .runCmd('test "$(whoami)" = root', { user: 'root' })
  await built(template, async (sandbox) => {
    assert.equal(await run(sandbox, 'ls made; cat link; stat -c %a made'), 'c\n1\n750')
  })
})

test('the start command runs in every sandbox, and is ready', async () => {
  const template = Template().fromBaseImage().runCmd('echo served > index.html').setStartCmd('python3 -m http.server 8765', waitForPort(8765))
  await built(template, async (sandbox, info) => {
    assert.equal(await run(sandbox, 'curl -s localhost:8765/index.html'), 'served')
    const child = await built(Template().fromTemplate(info.name).runCmd('true'), async (other) => {
      assert.equal(await run(other, 'curl -s localhost:8765/index.html'), 'served')
    })
    assert.ok(child.info.buildId)
  })
  await built(Template().fromBaseImage().setStartCmd('touch /tmp/up; sleep 1000', waitForFile('/tmp/up')), async (sandbox) => {
    assert.equal(await run(sandbox, 'ls /tmp/up'), '/tmp/up')
  })
  await built(Template().fromBaseImage().setReadyCmd(waitForTimeout(1000)))
})

test('the second build comes from the cache, until something changes', async () => {
  const stamp = unique('stamp')
  const template = () => Template().fromBaseImage().runCmd(`echo ${stamp}`).runCmd('date +%N > when')
  let first, second, third
  await built(template(), async (sandbox) => (first = await run(sandbox, 'cat when')))
  const { logs } = await built(template(), async (sandbox) => (second = await run(sandbox, 'cat when')))
  await built(template(), async (sandbox) => (third = await run(sandbox, 'cat when')), { skipCache: true })
  assert.ok(logs.some((line) => line.startsWith('CACHED')))
  assert.equal(first, second)
  assert.notEqual(first, third)
})

test('what fails says which step, and why', async () => {
  const fails = (template, pattern) => assert.rejects(Template.build(template, unique('compat-bad')), (error) => {
    assert.equal(error.name, 'BuildError')
    assert.match(error.message, pattern)
    return true
  })
  await fails(Template().fromBaseImage().runCmd('whoami', { user: 'root123' }),
    /failed to run command 'whoami': command failed: unauthenticated: invalid username: 'root123'/)
  await fails(Template().fromBaseImage().runCmd('true').runCmd('exit 3'), /failed to run command 'exit 3': exit status 3/)
  await fails(Template().fromTemplate('this-template-does-not-exist'), /this-template-does-not-exist/)
  await fails(Template().fromImage('registry.example/nothing:1'), /paddock image import/)
})

test('a build in the background is watched by its status', async () => {
  const info = await Template.buildInBackground(Template().fromBaseImage().skipCache().runCmd('echo at work; sleep 2'), unique('compat-later'))
  const first = await Template.getBuildStatus(info)
  assert.ok(['waiting', 'building'].includes(first.status))
  let status = first
  const seen = [...first.logEntries]
  while (status.status === 'building' || status.status === 'waiting') {
    await new Promise((resolve) => setTimeout(resolve, 100))
    status = await Template.getBuildStatus(info, { logsOffset: seen.length })
    seen.push(...status.logEntries)
  }
  assert.equal(status.status, 'ready')
  assert.ok(seen.some((entry) => entry.message === 'at work'))
  assert.equal(await Sandbox.deleteSnapshot(info.templateId), true)
})

test('tags mean builds, and move', async () => {
  const name = unique('compat-tags')
  const one = await Template.build(Template().fromBaseImage().runCmd('echo one > which'), `${name}:v1`, { tags: ['stable'] })
  const two = await Template.build(Template().fromBaseImage().runCmd('echo two > which'), `${name}:v2`)
  assert.equal(one.templateId, two.templateId)
  const assigned = await Template.assignTags(`${name}:v2`, ['production', 'stable'])
  assert.equal(assigned.buildId, two.buildId)
  assert.deepEqual([...assigned.tags].sort(), ['production', 'stable'])
  const tags = Object.fromEntries((await Template.getTags(one.templateId)).map((tag) => [tag.tag, tag.buildId]))
  assert.deepEqual(tags, { v1: one.buildId, v2: two.buildId, production: two.buildId, stable: two.buildId })
  const sandbox = await Sandbox.create(`${name}:stable`)
  assert.equal(await run(sandbox, 'cat which'), 'two')
  await sandbox.kill()
  for (const bad of [':invalid', `${name}:`]) await assert.rejects(Template.assignTags(`${name}:v1`, bad))
  await Template.removeTags(name, ['production'])
  await assert.rejects(Sandbox.create(`${name}:production`), /404/)
  await assert.rejects(Template.removeTags(unique('nothing'), ['x']))
  await assert.rejects(Template.getTags(unique('nothing')))
  assert.equal(await Sandbox.deleteSnapshot(one.templateId), true)
  assert.equal(await Template.exists(name), false)
})

test('names exist or do not', async () => {
  assert.equal(await Template.exists('base'), true)
  assert.equal(await Template.exists('code-interpreter-v1'), true)
  assert.equal(await Template.exists(unique('nonexistent')), false)
})
