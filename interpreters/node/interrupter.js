// A thread beside the kernel that ends what a cell computes, since the kernel's own thread is busy with it then. launch.sh writes a
// byte to descriptor 7 for each SIGINT.
'use strict'

const inspector = require('node:inspector')
const net = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
const { CELL, PHASE, HEARD, COMPUTING, CLAIMED, SENT } = require('./phases.js')

// How long the kernel's thread may compute without hearing of an interrupt, in ms of CPU time: on a busy machine it may have had no turn.
const PATIENCE = 700
const LOOK = 50 // ms

const shared = new Int32Array(workerData)
const session = new inspector.Session()
session.connectToMainThread()

const terminate = () => session.post('Runtime.terminateExecution')

function interrupt() {
  const cell = Atomics.load(shared, CELL)
  if (cell === 0) return // between cells it is nothing
  const heard = Atomics.load(shared, HEARD)
  if (Atomics.compareExchange(shared, PHASE, COMPUTING, CLAIMED) === COMPUTING) {
    terminate()
    Atomics.compareExchange(shared, PHASE, CLAIMED, SENT)
  }
  parentPort.postMessage(cell) // if it waits, it can end the cell itself
  const before = process.cpuUsage()
  const timer = setInterval(() => {
    const isOver = Atomics.load(shared, CELL) !== cell || Atomics.load(shared, HEARD) !== heard
    const used = process.cpuUsage(before)
    const isBusy = used.user + used.system >= PATIENCE * 1000
    if (isOver || isBusy) clearInterval(timer)
    if (isBusy && !isOver) terminate() // it computes on behalf of a promise that has come true
  }, LOOK)
}

new net.Socket({ fd: 7, readable: true, writable: false }).on('data', interrupt).on('error', () => {})
