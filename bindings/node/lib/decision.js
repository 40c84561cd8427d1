'use strict'

const { inspect } = require('node:util')
const { floats, layout, longs } = require('./native')

const { big: BIG, exact: EXACT, layer: LAYER, givenBack: GIVEN_BACK, notes: NOTES } = layout
/** Outcomes, by the numbers that the native part has. */
const OUTCOMES = ['allowed', 'denied', 'never', 'clock_range', 'asked']
const FIGURES = 6
/** The words of a record. */
const RECORD = layout.record / 8
/** What the native part says of a wait that is none. */
const NEVER = 2n ** 64n - 1n

/** The answer of a limiter to one request; index.d.ts describes it. */
class Decision {
  /** Reads the record at the number `at` of `numbers`, whose memory `words` is of, too. */
  constructor(numbers, words, at) {
    const head = numbers[at]
    this._outcome = head < BIG ? head : head - BIG
    this.limit = numbers[at + 1]
    this.remaining = numbers[at + 2]
    this._retry = numbers[at + 3]
    this._reset = numbers[at + 4]
    this._delay = numbers[at + 5]
    this._next = numbers[at + 6]
    this.layer = numbers[at + LAYER]
    this.givenBack = numbers[at + GIVEN_BACK]
    this._notes = numbers[at + NOTES]
    // Figures that a number does not hold.
    this._exact = head < BIG ? null : words.slice(at + EXACT, at + EXACT + FIGURES)
  }

  get allowed() {
    return this._outcome === 0
  }

  get outcome() {
    return OUTCOMES[this._outcome]
  }

  get retryAfterMs() {
    return this._retry / 1e6
  }

  get retryAfterNs() {
    return this._retry === Infinity ? null : this._figure(2, this._retry)
  }

  get resetAfterMs() {
    return this._reset / 1e6
  }

  get resetAfterNs() {
    return this._figure(3, this._reset)
  }

  get delayMs() {
    return this._delay / 1e6
  }

  get delayNs() {
    return this._figure(4, this._delay)
  }

  get nextAfterMs() {
    return this._next === 0 ? null : this._next / 1e6
  }

  get nextAfterNs() {
    return this._next === 0 ? null : this._figure(5, this._next)
  }

  get limitUnits() {
    return this._figure(0, this.limit)
  }

  get remainingUnits() {
    return this._figure(1, this.remaining)
  }

  get withoutPlace() {
    return (this._notes & layout.noPlace) !== 0
  }

  get withoutZone() {
    return (this._notes & layout.noZone) !== 0
  }

  get leased() {
    return (this._notes & layout.leased) !== 0
  }

  get unanswered() {
    return (this._notes & layout.unanswered) !== 0
  }

  _figure(number, value) {
    return this._exact === null ? BigInt(value) : this._exact[number]
  }

  /** The decision as the native part takes it back. */
  _numbers() {
    const { limitUnits, remainingUnits, retryAfterNs, resetAfterNs, delayNs, nextAfterNs } = this
    const rest = [BigInt(this.layer), nextAfterNs ?? 0n, BigInt(this.givenBack), BigInt(this._notes)]
    const first = [BigInt(this._outcome), limitUnits, remainingUnits, retryAfterNs ?? NEVER]
    return [...first, resetAfterNs, delayNs, ...rest]
  }

  toJSON() {
    const { outcome, allowed, limit, remaining, retryAfterMs, resetAfterMs, delayMs } = this
    // JSON has no infinity: null is never.
    const retry = Number.isFinite(retryAfterMs) ? retryAfterMs : null
    return { outcome, allowed, limit, remaining, retryAfterMs: retry, resetAfterMs, delayMs }
  }

  [inspect.custom]() {
    const { outcome, limit, remaining, retryAfterMs, resetAfterMs } = this
    const figures = `limit=${limit} remaining=${remaining} retryAfterMs=${retryAfterMs} resetAfterMs=${resetAfterMs}`
    return `<Decision ${outcome}: ${figures}>`
  }
}

/** The decision in the page. */
const ofPage = () => new Decision(floats, longs, 0)

/** The decisions of records: of the first `count`, by default of all. */
function ofRecords(words, numbers = numbersOf(words), count = words.length / RECORD) {
  // A loop: Array.from takes three times as long.
  const decisions = new Array(count)
  for (let number = 0; number < count; number++) decisions[number] = new Decision(numbers, words, number * RECORD)
  return decisions
}

/** The numbers of the same memory. */
const numbersOf = (words) => new Float64Array(words.buffer, words.byteOffset, words.length)

module.exports = { Decision, NEVER, OUTCOMES, ofPage, ofRecords }
