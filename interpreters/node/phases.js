// What the kernel and its interrupter share: indexes into an Int32Array, and the values of PHASE.
'use strict'

module.exports = {
  CELL: 0, // the number of the cell that runs; 0: none
  PHASE: 1,
  HEARD: 2, // how many interrupts the kernel's own thread has heard of
  IDLE: 0,
  COMPUTING: 1, // the kernel's thread is in a cell's code, where it may be ended
  CLAIMED: 2, // the interrupter has seen that, and is about to send the order to end it
  SENT: 3, // it has
}
