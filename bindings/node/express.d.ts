import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Counts, Decision, GateOptions, JointDecision, Limits, RulesDecision } from './index.js'

declare module 'node:http' {
  interface IncomingMessage {
    /** The decision on the request, of the limit nearest to the handler. */
    ratecell?: Decision | JointDecision | RulesDecision
  }
}

/**
 * A middleware for Express, Connect and others that call `(request, response, next)`. What is wrong with limits, keys and
 * options is thrown here, not at the first request.
 */
export function rateLimit<Request extends IncomingMessage = IncomingMessage>(
  limits: Limits<Request>,
  options?: GateOptions<Request>
): ((request: Request, response: ServerResponse, next: (error?: unknown) => void) => void) & { readonly counts: Counts }
