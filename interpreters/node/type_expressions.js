// Where a type ends. `cut` has the tokens and their text: types.js.
'use strict'

const PREFIXES = new Set(['keyof', 'typeof', 'readonly', 'unique', 'infer', 'asserts', 'new', 'abstract'])

// The first token behind the type that begins at `at`.
function typeEnd(cut, at) {
  if (cut.is(at, '|') || cut.is(at, '&')) at += 1
  let end = one(cut, at)
  while (end > at && end < cut.list.length) {
    const newline = cut.list[end].newline
    if (cut.is(end, '|') || cut.is(end, '&')) end = one(cut, end + 1)
    else if (cut.is(end, 'extends') && !newline) { // T extends U ? A : B
      end = typeEnd(cut, end + 1)
      if (cut.is(end, '?')) {
        end = typeEnd(cut, end + 1)
        if (cut.is(end, ':')) end = typeEnd(cut, end + 1)
      }
      return end
    } else if (cut.is(end, 'is') && !newline) return typeEnd(cut, end + 1)
    else return end
  }
  return end
}

// A type without operators between types.
function one(cut, at) {
  while (cut.word(at) && PREFIXES.has(cut.text[at]) && (cut.word(at + 1) || ['(', '[', '{'].includes(cut.text[at + 1]))) at += 1
  let end = at
  if (cut.is(at, '<')) { // <T>(a: T) => T
    end = cut.argumentsEnd(at)
    if (end < 0) return at
    at = end
  }
  if (cut.is(at, '(')) {
    end = (cut.pairs.get(at) ?? at) + 1
    if (cut.is(end, '=>')) return typeEnd(cut, end + 1)
  } else if (cut.is(at, '{') || cut.is(at, '[')) {
    end = (cut.pairs.get(at) ?? at) + 1
  } else if (cut.word(at) || ['text', 'number'].includes(cut.list[at]?.type)) {
    end = at + 1
  } else if (cut.is(at, '-') && cut.list[at + 1]?.type === 'number') {
    end = at + 2
  } else {
    return at
  }
  while (end < cut.list.length) {
    if (cut.is(end, '.') && cut.word(end + 1)) end += 2
    else if (cut.is(end, '<')) {
      const close = cut.argumentsEnd(end)
      if (close < 0) return end
      end = close
    } else if (cut.is(end, '[') && !cut.list[end].newline) end = (cut.pairs.get(end) ?? end) + 1
    else break
  }
  return end
}

module.exports = { typeEnd }
