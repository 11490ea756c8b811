import { randomUUID } from "node:crypto";
import type { Contract, Operation } from "./contract.js";
import { exchange } from "./exchange.js";
import type { Exchange, Target } from "./exchange.js";
import { exactJson } from "./exact-values.js";
import type { StoredExactly } from "./exact-values.js";
import { createTenant, withSecret } from "./tenant.js";
import type { Tenant } from "./tenant.js";
import { toHttp } from "./requests.js";
import type { HttpParts, RequestParts } from "./requests.js";

/** What checks work with: the server, its projects, and how to reach it. */
export interface Fixture {
  contract: Contract;
  apiKey: string;
  /** A key that may not use the projects of the run. */
  otherApiKey: string | undefined;
  /** The project that most checks use, filled with everything that the examples make. */
  own: Tenant;
  /** Another project, filled in the same way, whose content is marked with `secret`. */
  neighbour: Tenant;
  /** Names that nothing has. */
  missing: Tenant;
  /** Projects that requests with the ids of the neighbour are sent to: for reads, which leave it empty, and writes. */
  empty: { reads: string; writes: string };
  /** For the stories. */
  storyProject: string;
  /** What is read exactly. */
  stored: StoredExactly;
  /** Operations that responded with 501 while the projects were filled. */
  unserved: Set<string>;
  operation(id: string): Operation;
  /** Sends a request of an operation. Without `key` it is the API key; `null` sends none. */
  send(operation: Operation, parts: RequestParts, options?: SendOptions): Promise<Exchange>;
  /** Sends any request. */
  sendHttp(parts: HttpParts, options?: SendOptions): Promise<Exchange>;
}

interface SendOptions {
  key?: string | null;
  headers?: Readonly<Record<string, string>>;
}

export interface FixtureOptions {
  target: Target;
  contract: Contract;
  apiKey: string;
  otherApiKey?: string | undefined;
  entity: string;
}

/** Names for all that a run makes; nothing is sent. */
export function createFixture({ target, contract, apiKey, otherApiKey, entity }: FixtureOptions): Fixture {
  const run = randomUUID().slice(0, 8);
  const project = (name: string) => `${entity}/conformance-${run}${name}`;
  const byId = new Map(contract.operations.map((operation) => [operation.id, operation]));
  const sendHttp = (parts: HttpParts, { key = apiKey, headers = {} }: SendOptions = {}) => {
    const authorization: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    return exchange(target, parts, { ...authorization, ...headers });
  };
  // The example of logging in has a key that no server knows.
  const logIn = byId.get("sessionCreate")?.body?.examples[0]?.value as { api_key?: string } | undefined;
  const withKey = (text: string) => (logIn?.api_key === undefined ? text : text.replaceAll(logIn.api_key, apiKey));
  return {
    contract,
    apiKey,
    otherApiKey,
    own: createTenant({ projectId: project("a"), rewrite: withKey }),
    neighbour: createTenant({ projectId: project("b"), rewrite: (text) => withSecret(withKey(text)) }),
    missing: createTenant({ projectId: project("m"), isMissing: true }),
    empty: { reads: project("c"), writes: project("d") },
    storyProject: project("s"),
    stored: { json: exactJson(run) },
    unserved: new Set(),
    operation(id) {
      const found = byId.get(id);
      if (found === undefined) throw new TypeError(`the contract has no operation ${id}`);
      return found;
    },
    send: (operation, parts, options) => sendHttp(toHttp(operation, parts), options),
    sendHttp,
  };
}
