// The kernel's line to the server, and everything that the user's code prints. Descriptors: see launch.sh.
'use strict'

const fs = require('node:fs')
const net = require('node:net')
const { Writable } = require('node:stream')
const { Console } = require('node:console')
const { StringDecoder } = require('node:string_decoder')

const EVENTS = 4
const LONGEST_LINE = 16 << 20
const LONGEST_TEXT = 1 << 20
const LONGEST_DRAIN = 2 << 20

function writeAll(fd, bytes) {
  let at = 0
  while (at < bytes.length) {
    try {
      at += fs.writeSync(fd, bytes, at)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
    }
  }
}

// What subprocesses and native code write to descriptor 1 or 2.
class Pipe {
  constructor(fd, name, wire) {
    this.fd = fd
    this.name = name
    this.wire = wire
    this.decoder = new StringDecoder('utf8')
    this.buffer = Buffer.alloc(65536)
    const socket = new net.Socket({ fd, readable: true, writable: false })  // makes it non-blocking, too
    socket.on('data', (data) => this.take(data))
    socket.on('error', () => {})
    socket.unref()
  }

  take(data) {
    const text = this.decoder.write(data)
    if (text) this.wire.text(this.name, text)
  }

  drain() {
    for (let left = LONGEST_DRAIN; left > 0;) {
      let size = 0
      try {
        size = fs.readSync(this.fd, this.buffer)
      } catch {
        return // EAGAIN: empty
      }
      if (size === 0) return
      left -= size
      this.take(this.buffer.subarray(0, size))
    }
  }
}

class Output extends Writable {
  constructor(name, wire, fd) {
    super({ decodeStrings: false })
    this.eventName = name
    this.wire = wire
    this.fd = fd
    this.isTTY = false
    this.decoder = new StringDecoder('utf8')
  }

  // One call, one event.
  write(chunk, encoding, done) {
    if (typeof encoding === 'function') [encoding, done] = [undefined, encoding]
    const text = typeof chunk === 'string' ? chunk : this.decoder.write(Buffer.from(chunk))
    this.wire.drain()
    this.wire.text(this.eventName, text)
    if (done) process.nextTick(done)
    return true
  }

  end(chunk) {
    if (chunk) this.write(chunk)
    return this
  }
}

class Wire {
  constructor() {
    this.cell = 0 // the one that runs; 0: none, and what is printed then is nobody's
    this.held = ''
    this.pipes = [new Pipe(5, 'stdout', this), new Pipe(6, 'stderr', this)]
    const stdout = new Output('stdout', this, 1)
    const stderr = new Output('stderr', this, 2)
    Object.defineProperty(process, 'stdout', { value: stdout, configurable: true, writable: true })
    Object.defineProperty(process, 'stderr', { value: stderr, configurable: true, writable: true })
    globalThis.console = new Console({ stdout, stderr, colorMode: false })
  }

  drain() {
    for (const pipe of this.pipes) pipe.drain()
  }

  flush() {
    this.drain()
  }

  text(name, text) {
    for (let at = 0; at < text.length; at += LONGEST_TEXT) {
      this.send({ type: name, text: text.slice(at, at + LONGEST_TEXT), timestamp: new Date().toISOString() })
    }
  }

  // `soon`: together with the next one, which saves the server a wake-up.
  send(event, soon = false) {
    if (this.cell === 0 && event.type !== 'ready') return
    let line = JSON.stringify(event)
    if (Buffer.byteLength(line) > LONGEST_LINE) {
      const value = `a ${event.type} of ${line.length} bytes is more than ${LONGEST_LINE}`
      line = JSON.stringify({ type: 'error', name: 'OutputTooLarge', value, traceback: '' })
    }
    this.held += `${this.cell} ${line}\n`
    if (soon) return
    const bytes = Buffer.from(this.held.isWellFormed?.() === false ? this.held.toWellFormed() : this.held)
    this.held = ''
    writeAll(EVENTS, bytes)
  }
}

module.exports = { Wire }
