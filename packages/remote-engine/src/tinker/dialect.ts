import type { ServerResponse } from "../server-response.js";

/**
 * What the wire of one server was found to be. Servers do not say which release of the protocol they speak: each request
 * has the form of present ones first where older servers refuse that without doing anything, and the other form where
 * they would not.
 */
export interface Dialect {
  /** Whether passes are sent as Protocol Buffers, because JSON was refused. */
  passesAreMessages: boolean;
  /** Whether adapters are exported as files with an address each. Undefined: not tried yet. */
  externalWeights?: boolean;
  /** Whether loading a state creates its model. Undefined: not tried yet. */
  createsByLoading?: boolean;
}

/** Whether a server does not know the route of a request. It may say the same of a model. */
export function isUnknownRoute({ status }: ServerResponse): boolean {
  return status === 404 || status === 405 || status === 501;
}
