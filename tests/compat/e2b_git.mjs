// sandbox.git of the E2B SDK, against repositories inside.
import { assert, sdk, sandboxTest } from './support.mjs'

const identity = { authorName: 'A U Thor', authorEmail: 'author@example.com' }

sandboxTest('init, add, commit, status, branches', async (sandbox) => {
  await sandbox.git.init('/home/user/repo', { initialBranch: 'main' })
  await sandbox.files.write('/home/user/repo/a.txt', 'one')
  let status = await sandbox.git.status('/home/user/repo')
  assert.equal(status.currentBranch, 'main')
  assert.equal(status.fileStatus.length, 1)
  await sandbox.git.add('/home/user/repo')
  await sandbox.git.commit('/home/user/repo', 'first', identity)
  status = await sandbox.git.status('/home/user/repo')
  assert.equal(status.fileStatus.length, 0)
  await sandbox.git.createBranch('/home/user/repo', 'topic')
  const branches = await sandbox.git.branches('/home/user/repo')
  assert.deepEqual(branches.branches.slice().sort(), ['main', 'topic'])
  assert.equal(branches.currentBranch, 'topic')
  await sandbox.git.checkoutBranch('/home/user/repo', 'main')
  await sandbox.git.deleteBranch('/home/user/repo', 'topic')
  assert.deepEqual((await sandbox.git.branches('/home/user/repo')).branches, ['main'])
})

sandboxTest('clone, push and pull', async (sandbox) => {
  await sandbox.commands.run('git init -q --bare --initial-branch=main /home/user/remote.git')
  await sandbox.git.init('/home/user/one', { initialBranch: 'main' })
  await sandbox.files.write('/home/user/one/a.txt', 'one')
  await sandbox.git.add('/home/user/one')
  await sandbox.git.commit('/home/user/one', 'first', identity)
  await sandbox.git.remoteAdd('/home/user/one', 'origin', '/home/user/remote.git')
  await sandbox.git.push('/home/user/one', { remote: 'origin', branch: 'main', setUpstream: true })
  await sandbox.git.clone('/home/user/remote.git', { path: '/home/user/two' })
  assert.equal(await sandbox.files.read('/home/user/two/a.txt'), 'one')
  await sandbox.files.write('/home/user/one/a.txt', 'two')
  await sandbox.git.add('/home/user/one')
  await sandbox.git.commit('/home/user/one', 'second', identity)
  await sandbox.git.push('/home/user/one')
  await sandbox.git.pull('/home/user/two')
  assert.equal(await sandbox.files.read('/home/user/two/a.txt'), 'two')
})

sandboxTest('configuration and mistakes', async (sandbox) => {
  await sandbox.git.configureUser('A U Thor', 'author@example.com')
  assert.equal((await sandbox.commands.run('git config --global user.name')).stdout.trim(), 'A U Thor')
  await assert.rejects(sandbox.git.status('/home/user'), sdk.CommandExitError)
})
