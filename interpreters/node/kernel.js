// The javascript kernel of one context: one cell after the other in one global scope. docs/code.md says what it speaks.
'use strict'

const net = require('node:net')
const path = require('node:path')
const { Worker } = require('node:worker_threads')
const { Wire } = require('./wire.js')
const { Cells, describe } = require('./cells.js')
const display = require('./display.js')
const { CELL, HEARD } = require('./phases.js')

const shared = new Int32Array(new SharedArrayBuffer(12))
const wire = new Wire()
const cells = new Cells(shared)
const READY = { type: 'ready', language: 'javascript', engine: `node ${process.versions.node}` }
let running = null // {interrupt}: the one that runs
let count = 0

display.install((formats, isMain) => wire.send(display.result(formats, isMain)))

const leave = process.exit.bind(process)
class ProcessExit extends Error {}
ProcessExit.prototype.name = 'ProcessExit'
process.exit = (code) => {
  throw new ProcessExit(String(code ?? process.exitCode ?? 0))
}

function report(error) {
  wire.flush()
  wire.send({ type: 'error', ...describe(error) })
}

// What goes wrong between the lines of a cell, in a timer or a promise that nobody waits for, ends nothing.
process.on('uncaughtException', (error) => process.stderr.write(`Uncaught ${describe(error).traceback}\n`))
process.on('unhandledRejection', (error) => process.stderr.write(`Uncaught (in promise) ${describe(error).traceback}\n`))

// While a cell computes, the interrupter ends it; while it waits, we do.
const interrupter = new Worker(path.join(__dirname, 'interrupter.js'), { workerData: shared.buffer })
interrupter.on('message', (cell) => {
  Atomics.add(shared, HEARD, 1)
  if (running && Atomics.load(shared, CELL) === cell) running.interrupt()
})
interrupter.unref()

function setEnvironment(values) {
  const before = {}
  for (const [name, value] of Object.entries(values)) {
    before[name] = process.env[name]
    if (value === undefined || value === null) delete process.env[name]
    else process.env[name] = value
  }
  return before
}

async function run(command) {
  const before = setEnvironment(command.env ?? {})
  wire.cell = command.cell
  count += 1
  wire.send({ type: 'number_of_executions', execution_count: count }, true)
  try {
    const interrupted = new Promise((_, reject) => {
      running = { interrupt: () => reject(cells.interruption()) }
    })
    interrupted.catch(() => {})
    Atomics.store(shared, CELL, count)
    const value = await Promise.race([cells.run(command.code, count, command.language), interrupted])
    if (value !== undefined) {
      wire.flush()
      wire.send(display.result(display.formats(value), true), true)
    }
  } catch (error) {
    report(error)
  }
  Atomics.store(shared, CELL, 0)
  running = null
  setEnvironment(before)
  wire.flush()
  wire.send({ type: 'end_of_execution' })
  wire.cell = 0
}

const queue = []
async function serve() {
  if (running) return
  while (queue.length > 0) {
    running = { interrupt: () => {} }
    const command = queue.shift()
    if (command.op === 'run') await run(command)
    else wire.send(READY)
    running = null
  }
}

// A command; nothing for what a server that died in the middle has left.
function parse(line) {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

let text = ''
const commands = new net.Socket({ fd: 3, readable: true, writable: false })
commands.setEncoding('utf8')
commands.on('data', (more) => {
  text += more
  const lines = text.split('\n')
  text = lines.pop()
  for (const line of lines) {
    const command = parse(line)
    if (command?.op === 'run' || command?.op === 'hello') queue.push(command)
  }
  serve()
})
commands.on('end', () => leave(0))
commands.on('error', () => leave(1))

wire.send(READY)
