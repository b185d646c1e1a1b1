// Evaluates cells as a console does: declarations stay and may be made anew, await and import work at the top, the last
// expression is the value. V8 does this itself for its inspector (replMode); here the process is its own inspector.
'use strict'

const inspector = require('node:inspector')
const path = require('node:path')
const vm = require('node:vm')
const { createRequire } = require('node:module')
const { pathToFileURL } = require('node:url')
const { forConsole } = require('./imports.js')
const { withoutTypes } = require('./typescript.js')
const { PHASE, IDLE, COMPUTING, CLAIMED } = require('./phases.js')

const GROUP = 'cell'
const TERMINATED = /terminated/ // what the inspector says of an evaluation that was ended
const STEPS = 1_000_000 // in each of which an order to end that was sent can reach us: the second at the latest

class Interrupted extends Error {}
Interrupted.prototype.name = 'KeyboardInterrupt'

class Cells {
  // `shared`: see phases.js
  constructor(shared) {
    this.shared = shared
    this.session = new inspector.Session()
    this.session.connect()
    this.directory = ''
    this.taken = undefined
    // How a value comes from the inspector, which only knows it by a number, to us.
    Object.defineProperty(globalThis, '__paddock_take', { value: (value) => { this.taken = value }, enumerable: false })
    Object.defineProperty(globalThis, '__paddock_start', { value: () => this.start(), enumerable: false })
  }

  interruption() {
    return new Interrupted('Execution was interrupted')
  }

  // require() and import() find what stands beside the working directory.
  moveTo(directory) {
    if (directory === this.directory) return
    this.directory = directory
    const here = path.join(directory, 'cell.js')
    const require = createRequire(here)
    for (const [name, value] of Object.entries({ require, module: { exports: {} }, exports: {}, __filename: here, __dirname: directory })) {
      Object.defineProperty(globalThis, name, { value, configurable: true, writable: true, enumerable: false })
    }
    const importer = importerAt(here, require)
    Object.defineProperty(globalThis, '__paddock_import', { value: importer, configurable: true, enumerable: false })
  }

  async run(code, number, language) {
    this.moveTo(process.cwd())
    if (language === 'typescript') code = withoutTypes(code, globalThis.require)
    code = asExpression(forConsole(code))
    const expression = `${code}\n//# sourceURL=cell-${number}.js`
    const answer = await this.evaluate(expression)
    const remote = answer.exceptionDetails ? answer.exceptionDetails.exception : answer.result
    const value = this.fetch(remote)
    this.session.post('Runtime.releaseObjectGroup', { objectGroup: GROUP })
    if (!answer.exceptionDetails) return value // a promise is awaited by whoever awaits this
    throw located(value, answer.exceptionDetails, number)
  }

  evaluate(expression) {
    return new Promise((resolve, reject) => {
      const start = () => this.session.post('Runtime.evaluate',
        { expression, replMode: true, awaitPromise: true, objectGroup: GROUP },
        (error, answer) => {
          if (!error) resolve(answer)
          else reject(TERMINATED.test(error.message) ? this.interruption() : new Error(error.message))
        })
      if (this.guarded(start)) reject(this.interruption()) // nothing, when it has ended by itself before
    })
  }

  // Calls `start`, which the interrupter may end, and tells whether it has tried. Its order must not end anything else when `start`
  // returns by itself: we wait for it, inside an evaluation that takes it.
  guarded(start) {
    let claimed = false
    this.start = () => {
      start()
      claimed = Atomics.compareExchange(this.shared, PHASE, COMPUTING, IDLE) !== COMPUTING
      if (!claimed) return
      while (Atomics.load(this.shared, PHASE) === CLAIMED);
      for (let step = 0; step < STEPS; step += 1);
    }
    Atomics.store(this.shared, PHASE, COMPUTING)
    this.session.post('Runtime.evaluate', { expression: '__paddock_start()', silent: true })
    return Atomics.exchange(this.shared, PHASE, IDLE) !== IDLE || claimed
  }

  fetch(remote) {
    if (remote.objectId !== undefined && remote.type !== 'symbol') {
      this.taken = undefined
      this.session.post('Runtime.callFunctionOn',
        { objectId: remote.objectId, functionDeclaration: 'function () { __paddock_take(this) }', silent: true })
      const value = this.taken
      this.taken = undefined
      return value
    }
    if (remote.type === 'symbol') return Symbol(remote.description.slice('Symbol('.length, -1))
    if (remote.type === 'bigint') return BigInt(remote.unserializableValue.slice(0, -1))
    if (remote.unserializableValue !== undefined) return Number(remote.unserializableValue)
    return remote.subtype === 'null' ? null : remote.value
  }
}

function importerAt(here, require) {
  const source = '(name, options) => import(name, options)'
  if (vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER) {
    return new vm.Script(source, { filename: here, importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER }).runInThisContext()
  }
  // Before node 20.12: find the file as require() would.
  return (name, options) => {
    const found = require('node:module').isBuiltin(name) || /^[a-z]+:/.test(name) ? name : pathToFileURL(require.resolve(name)).href
    return import(found, options)
  }
}

// `{a: 1}` is meant as a value, not as a block.
function asExpression(code) {
  if (!/^\s*\{/.test(code) || /;\s*$/.test(code)) return code
  try {
    new vm.Script(`(${code}\n)`) // only compiled
    return `(${code}\n)`
  } catch {
    return code
  }
}

function located(error, details, number) {
  if (error instanceof SyntaxError && !/cell-\d+\.js:\d+/.test(error.stack ?? '')) {
    error.stack = `${error.name}: ${error.message}\n    at cell-${number}.js:${details.lineNumber + 1}:${details.columnNumber + 1}`
  }
  return error
}

// An error as name, value and traceback, without the kernel's own frames.
function describe(error) {
  if (!(error instanceof Error) && !(error && typeof error.stack === 'string')) {
    const text = typeof error === 'string' ? error : require('node:util').inspect(error)
    return { name: 'Error', value: text, traceback: `Uncaught ${text}` }
  }
  const lines = String(error.stack).split('\n')
  const ours = lines.findIndex((line) => /^\s+at .*(node:inspector|node:vm|__paddock_|paddock:\d|\/interpreters\/node\/)/.test(line))
  return { name: String(error.name), value: String(error.message), traceback: (ours < 0 ? lines : lines.slice(0, ours)).join('\n') }
}

module.exports = { Cells, describe }
