/// <reference types="node" />
import type { IncomingMessage } from 'node:http'

/** A key: a string is its UTF-8. */
export type Key = string | Uint8Array

/** Nanoseconds, 0 to 2^64-1: a bigint, or a whole number up to 2^53-1. */
export type Nanoseconds = bigint | number

/** How a request was decided. Only `'denied'` may be repeated; `'asked'` is not known yet, for a store was asked. */
export type Outcome = 'allowed' | 'denied' | 'never' | 'clock_range' | 'asked'

/**
 * The answer of a limiter to one request. A denial is an answer, and no error. Times are relative to the request's, exact
 * in nanoseconds; in milliseconds they are the nearest number.
 */
export class Decision {
  private constructor()
  readonly allowed: boolean
  readonly outcome: Outcome
  /** The most units that can pass at one instant; of several layers, that of `layer`. */
  readonly limit: number
  /** Units that would be allowed at this same instant, after this decision. */
  readonly remaining: number
  /** `limit` and `remaining`, exact also above 2^53. */
  readonly limitUnits: bigint
  readonly remainingUnits: bigint
  /** Until the same cost would be allowed: 0 if it was; Infinity if it never can be. */
  readonly retryAfterMs: number
  /** The same, exact: 1 ns earlier the same cost is still denied. null if it never can be allowed. */
  readonly retryAfterNs: bigint | null
  /** Until the key is as good as never used. */
  readonly resetAfterMs: number
  readonly resetAfterNs: bigint
  /** How long to hold the allowed request: 0 except for a `leaky_queue`. */
  readonly delayMs: number
  readonly delayNs: bigint
  /** With `withNext`: until one unit more than `remaining` would be allowed; else null. */
  readonly nextAfterMs: number | null
  readonly nextAfterNs: bigint | null
  /** The number of the layer whose figures these are. */
  readonly layer: number
  /** The units that a release gave back. */
  readonly givenBack: number
  /** Whether the full table had no place for the key. */
  readonly withoutPlace: boolean
  /** Whether the request was refused for having no zone, or a wrong one. */
  readonly withoutZone: boolean
  /** Whether the figures are what this machine alone knows, of a limit of many machines. */
  readonly leased: boolean
  /** Whether a store that did not answer left the decision to `onFailure` or `onMiss`. */
  readonly unanswered: boolean
  toJSON(): object
}

export interface LimiterOptions {
  /** Keys that have room at once, 100,000 by default. Memory is about 26 bytes for each and layer. */
  maxKeys?: number
  /** What a newcomer meets in a full table: 'evict' by default. */
  whenFull?: 'evict' | 'share' | 'deny' | 'allow'
  /** A file, in which all processes and threads that open it share the limits; it is made if it is not there. */
  path?: string | URL
  /** In a file of leases: whether a miss waits for the store, and for how long, or is denied at once. */
  onMiss?: 'wait' | 'deny'
  waitMs?: number
  /** In a file of leases: what a miss is while the store is away, 'closed' by default. */
  onFailure?: 'closed' | 'open'
  /** The zero of the limiter's clock, in seconds since 1970. */
  epochS?: number
  /** Whether a file keeps the names of keys that were denied. */
  names?: boolean
}

export interface Time {
  /** The time, since the limiter's `epoch` or any other zero that all of its users have; without it, now. */
  atNs?: Nanoseconds
}

export interface PeekOptions extends Time {
  /** Under a policy with tz=caller, the zone whose windows decide. */
  zone?: Zone
  /** Whether the decision has its `nextAfterMs`: it costs a second look at the key. */
  withNext?: boolean
}

export interface DecideOptions extends PeekOptions {
  /** The longest delay that the caller can wait: with a longer one the request is denied. One of the two. */
  withinMs?: number
  withinNs?: Nanoseconds
  /** The units have been spent already: they are charged as far as there is room, and never refused. */
  charge?: boolean
  /** `false`: it does not wait for a store, and the outcome may be 'asked'. */
  wait?: boolean
}

/** A time zone, which `Limiter.zone` makes. */
export interface Zone {
  readonly name: string
}

export interface Stats {
  slots: number
  live: number
  liveError: number
  bytes: number
  evicted: number
  forgiven: number
  shared: number
  deniedFull: number
  allowedFull: number
  exhausted: number
  leased: number
  used: number
  passed: number
  givenBack: number
  misses: number
  waits: number
  timeouts: number
  operations: number
  swapsLost: number
  lagNs: number
  healed: number
  boardFull: number
  opened: number
  local: number
  connected: boolean
}

/**
 * A limiter. It is of its thread; threads and processes share limits by a `path`.
 *
 * Throws PolicyError for a policy that is refused, TypeError and RangeError for other arguments, and the error of the
 * system, with its `code` and `path`, for a file.
 */
export class Limiter {
  /** `policy` may be undefined with a `path`, of a file that has one. */
  constructor(policy: string | undefined, options?: LimiterOptions)
  /** Decides `cost` units of `key`, 0 to 2^32-1: all of them or none. */
  check(key: Key, cost?: number): Decision
  /** The same at a given time. */
  checkAt(key: Key, cost: number, nowNs: Nanoseconds): Decision
  /** What a check would see: one of cost 0. */
  peek(key: Key, options?: PeekOptions): Decision
  /** As `check`, with options. */
  decide(key: Key, cost?: number, options?: DecideOptions): Decision
  /** As `decide`; where a store is to be asked, in another thread, so that the event loop goes on. */
  decideAsync(key: Key, cost?: number, options?: DecideOptions): Promise<Decision>
  /** Decides the same request for each key, at one instant and in their order. */
  decideMany(keys: Iterable<Key>, cost?: number, options?: Omit<DecideOptions, 'zone'>): Decision[]
  /** As `decide`, of what is given back when it is known what was used, or when a request in flight ends. */
  reserve(key: Key, cost?: number, options?: DecideOptions): Reservation
  /**
   * Waits until the request is allowed. Those who wait for one key are served in the order in which they came. With a
   * `timeoutMs`, a denial is the answer as soon as it is certain. Without one, rejects with RangeError for what can never
   * be allowed, and with TooManyWaiting. An aborted wait has taken nothing.
   */
  acquire(key: Key, cost?: number, options?: { timeoutMs?: number; signal?: AbortSignal }): Promise<Decision>
  /** How many wait. */
  readonly waiting: number
  /** Makes `key` as if never seen; whether there was anything to forget. */
  forget(key: Key): boolean
  /** Limits by another policy from now on, wherever the keys are shared; what was used stays used. */
  change(policy: string, options?: Time): void
  /** The same keys by a policy of another burst, capacity or limit. */
  withPolicy(policy: string): Limiter
  /** A zone for requests under tz=caller: a name of the time zone database, 'UTC' or an offset. Make each once. */
  zone(name: string): Zone
  /** What it holds and what has happened. Of many keys `live` is estimated, unless `exact`. */
  stats(options?: Time & { exact?: boolean }): Stats
  /** The policy, as text that makes the same one. */
  readonly policy: string
  readonly capacity: number
  readonly capacityUnits: bigint
  /** The last time that can be decided. */
  readonly maxNowNs: bigint
  /** The zero of the limiter's clock. */
  readonly epoch: Date
  /** Nanoseconds since `epoch`. */
  nowNs(): bigint
}

/**
 * What `Limiter.reserve` has charged; `allowed` says whether it was. Each is settled once and released once: a second time
 * throws. The calls of one that was refused throw RateLimitExceeded, but for `end`.
 */
export class Reservation {
  private constructor()
  /** One of the `bytes` of another process with the same `path`. */
  static fromBytes(limiter: Limiter, data: Uint8Array, options?: Time): Reservation
  readonly allowed: boolean
  readonly decision: Decision
  /** The key; null of one that was made of bytes. */
  readonly key: Key | null
  /** The units that are reserved. */
  readonly cost: number
  readonly bytes: Buffer
  /** Of its units, `actual` were used; the others are given back, and what is more is charged. */
  settle(actual: number, options?: Time): Decision
  /** Gives back the permit of layers `in_flight`. */
  release(options?: Time): Decision
  /** The permit lives on for at least another hold. */
  renew(options?: Time): Decision
  /** Settles by `actual`, if it is given, and releases: what was not done yet, and of a refused one nothing. */
  end(actual?: number): void
  [Symbol.dispose](): void
}

export interface Claim extends Omit<DecideOptions, 'zone'> {
  limiter: Limiter
  key: Key
  cost?: number
}

/** Several decisions on one request, which is allowed only if all are. */
export interface JointDecision {
  readonly allowed: boolean
  readonly outcome: Outcome
  readonly decisions: Decision[]
}

/** Decides requests to several limiters as one: all are charged, or none. They have at most 64 layers. */
export function decideAll(claims: Iterable<Claim>): JointDecision

export type Style =
  | 'draft11'
  | 'draft07'
  | 'draft06'
  | 'draft03'
  | 'x'
  | 'x_unix'
  | 'github'
  | 'twitter'
  | 'kong'

/** The names of a limiter's policy in HTTP fields. Every client reads the partition: put no address in it. */
export interface Label {
  name?: string
  unit?: 'requests' | 'content-bytes' | 'concurrent-requests'
  partition?: Uint8Array
}

export interface Answer {
  limiter: Limiter
  decision: Decision
  label?: Label
}

/** The HTTP fields of one answer or several, each a name and its value. */
export function fields(
  answers: Answer | Answer[],
  styles?: Style | Style[],
  options?: { nowUnixNs?: Nanoseconds }
): [string, string][]

/** A request of node:http, or of a framework that has one as `raw` (Fastify) or `req` (Koa). */
export type AnyRequest = IncomingMessage | { raw: IncomingMessage } | { req: IncomingMessage }

export interface ClientsOptions {
  /** The field in which proxies of one's own name the client; without it, the peer is the client. */
  field?: string | Uint8Array
  /** How the field names it: 'list' as X-Forwarded-For, 'forwarded' as Forwarded, 'single' as X-Real-IP. */
  kind?: 'list' | 'forwarded' | 'single'
  /** How many proxies every request passes, 1 to 16; or the networks in which the proxies are, 1 to 256. */
  hops?: number
  networks?: (string | Uint8Array)[]
  /** How many bits of an address are the client: 8 to 32, by default 32; and 32 to 128, by default 64. */
  v4Width?: number
  v6Width?: number
}

/** Knows the client of a request: its key is the same text in every language. */
export class Clients {
  constructor(options?: ClientsOptions)
  readonly field: string | null
  /** The key by the peer, an address or '' for a Unix socket, and by the lines of the header. */
  key(peer: string | Uint8Array, lines?: Iterable<[string | Uint8Array, string | Uint8Array]>): string
  /** The key, and why it is that one: 'end', 'short', 'malformed' or 'long'. */
  search(
    peer: string | Uint8Array,
    lines?: Iterable<[string | Uint8Array, string | Uint8Array]>
  ): { key: string; end: 'end' | 'short' | 'malformed' | 'long' }
  ofRequest(request: AnyRequest): string
}

/** A function of a request that returns the key of its client. */
export function clientKey(options?: ClientsOptions): (request: AnyRequest) => string

/** A function that returns 'name=value' of a field, such as an API key; where it is absent, the key of `otherwise`. */
export function header<Request extends AnyRequest>(
  name: string,
  otherwise?: (request: Request) => Key | null | undefined
): (request: Request) => Key | null | undefined

/** Values by the names that a file of rules uses; one that is not there is absent. */
export type Attributes = Record<string, Key | null | undefined>

/** A function of a request that returns its method, path, host, client and header, for rules. */
export function byRequest<Request extends AnyRequest>(
  client?: (request: Request) => Key | null | undefined
): (request: Request) => Attributes

export interface RulesOptions {
  maxKeys?: number
  whenFull?: 'evict' | 'deny' | 'allow'
  epochS?: number
  /** Every request is reserved, and rules may count requests `in_flight`. */
  reserving?: boolean
  /** A file in which all processes that name it share the limits. */
  file?: string | URL
  /** Of a rule that has another policy in the file: that of the file holds; or this one, for all. */
  follow?: boolean
  change?: boolean
}

/** Limits by a file of rules. Throws RulesError for one that is refused. */
export class Rules {
  constructor(text: string | Uint8Array, options?: RulesOptions)
  constructor(options: RulesOptions & { path: string | URL })
  /** Decides a request with these attributes: all limits that apply are charged, or none is. */
  decide(attributes: Attributes, options?: Time): RulesDecision
  /** The same, to be settled and released. */
  reserve(attributes: Attributes, options?: Time): RulesReservation
  /** Limits by another file from now on; a bad one changes nothing. */
  change(text: string | Uint8Array, options?: Time): void
  change(options: Time & { path: string | URL }): void
  stats(options?: Time): Stats
  readonly reserving: boolean
  readonly names: string[]
  readonly epoch: Date
  nowNs(): bigint
}

/** The answer of rules to one request. Its figures are those of `rule`. */
export class RulesDecision {
  private constructor()
  readonly allowed: boolean
  readonly outcome: Outcome
  /** The rule that refused; of an allowed request, the one that runs out first; null if none limits it. */
  readonly rule: string | null
  /** Whether the path can be read in several ways, which the file refuses: answer 400. */
  readonly isUnclearPath: boolean
  readonly limit: number
  readonly remaining: number
  readonly retryAfterMs: number
  readonly retryAfterNs: bigint | null
  readonly resetAfterMs: number
  readonly resetAfterNs: bigint
  readonly delayMs: number
  readonly delayNs: bigint
  /** What each shadow rule would have answered. */
  readonly shadow: { rule: string; outcome: Outcome }[]
  fields(styles?: Style | Style[], options?: { nowUnixNs?: Nanoseconds }): [string, string][]
}

/** What `Rules.reserve` has charged. */
export class RulesReservation {
  private constructor()
  static fromBytes(rules: Rules, data: Uint8Array, options?: Time): RulesReservation
  readonly allowed: boolean
  /** null of one that was made of bytes. */
  readonly decision: RulesDecision | null
  readonly bytes: Buffer
  /** Settles each rule whose cost is taken from one of these attributes, such as `{ tokens: 1210 }`. */
  settle(actual: Record<string, Key | number | null | undefined>, options?: Time): void
  /** Settles each rule at 0. */
  cancel(options?: Time): void
  /** Gives back the permits; how many units came back. */
  release(options?: Time): number
  end(actual?: Record<string, Key | number | null | undefined>): void
  [Symbol.dispose](): void
}

/** A policy that is refused: the stable name of what is wrong, and where in its text, from 1. */
export class PolicyError extends RangeError {
  readonly code: string
  readonly column: number | null
}

/** A file of rules that is refused. */
export class RulesError extends RangeError {
  readonly code: string
  readonly line: number | null
  readonly rule: string | number | null
  readonly field: string | null
}

/** What the calls of a refused reservation throw. */
export class RateLimitExceeded extends Error {
  readonly key: Key
  readonly decision: Decision | RulesDecision
}

export class TooManyWaiting extends Error {
  readonly key: Key
}

/** A limit before an application. */
export interface Limit<Request> {
  limiter: Limiter
  /** The key that is charged, at once; null for a request that is not limited. By default the client's address. */
  key?: (request: Request) => Key | null | undefined
  cost?: number | ((request: Request) => number)
  label?: Label
}

/** One limit; several, which are charged all or none; or rules. */
export type Limits<Request> = Limiter | Limit<Request> | (Limiter | Limit<Request>)[] | Rules

export interface GateOptions<Request> {
  /** With rules: what they know of a request; null for one that is not limited. By default `byRequest()`. */
  attributes?: (request: Request) => Attributes | null | undefined
  /** The fields of responses, 'draft11' by default. */
  styles?: Style | Style[]
  /** The status of a denial, 429 by default. */
  status?: number
  /** What becomes of a request that cannot be decided because of a fault: 'open', the default, lets it through. */
  fail?: 'open' | 'closed'
  /** Is told a fault, at most one in 10 s, and how many others there were; by default it is written to stderr. */
  onFault?: (fault: unknown, what: { let: 'through' | 'nobody'; others: number }) => void
}

/** How many requests a middleware of this thread has let through and refused. */
export interface Counts {
  allowed: number
  denied: number
  refused: number
  unlimited: number
  failedOpen: number
  failedClosed: number
}
