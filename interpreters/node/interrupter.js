// A thread beside the kernel that ends what a cell computes, since the kernel's own thread is busy with it then. launch.sh writes a
// byte to descriptor 7 for each SIGINT.
'use strict'

const inspector = require('node:inspector')
const net = require('node:net')
const { parentPort, workerData } = require('node:worker_threads')
const { CELL, PHASE, HEARD, COMPUTING, CLAIMED, SENT } = require('./phases.js')

const PATIENCE = 700 // ms for the kernel's thread to hear of an interrupt before it counts as busy

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
  setTimeout(() => {
    const isDeaf = Atomics.load(shared, CELL) === cell && Atomics.load(shared, HEARD) === heard
    if (isDeaf) terminate() // it computes on behalf of a promise that has come true
  }, PATIENCE)
}

new net.Socket({ fd: 7, readable: true, writable: false }).on('data', interrupt).on('error', () => {})
