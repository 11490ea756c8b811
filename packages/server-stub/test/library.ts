import library from "@heddle/tools/library.json" with { type: "json" };
import { parseModel } from "@heddle/tools/model";
import { stubOf } from "@heddle/tools/operations";
import { validatorFiles } from "@heddle/tools/validators";
import type { Checks } from "@heddle/tools/validators";
import type { Definition } from "../src/definition.js";
import type { HttpServer } from "../src/http.js";
import { createServer } from "../src/server.js";
import type { ServerOptions } from "../src/server.js";
import type { Validator } from "../src/validation.js";

// The small document of the generators' golden files, run instead of written down: it uses every feature there is.

const model = parseModel(library, "library.json");
const stub = stubOf(model);

async function compiled(checks: Checks): Promise<Record<string, Validator>> {
  const code = validatorFiles("checks", model, checks)["checks.js"] ?? "";
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Record<string, Validator>;
}

export const definition: Definition = {
  interface: model.interface,
  operations: stub.operations as Definition["operations"],
  plans: stub.plans,
  validators: await compiled(stub.checks),
  responseValidators: () => compiled(stub.responseChecks),
};

/** A request as a handler of the library gets it, with the types left to the test. */
export interface Incoming {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  headers: Record<string, unknown>;
  body: unknown;
  remoteAddress: string | undefined;
  signal: AbortSignal;
}

export type Handler = (request: Incoming, caller: unknown) => unknown;

/** A server of the library with the given handlers by operation; every key but "bad" is let in. */
export function libraryServer(
  handlers: Partial<Record<string, Handler>>,
  options: ServerOptions<unknown> & { interface?: Definition["interface"] } = {},
): HttpServer {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const { id, group } of definition.operations) {
    if (handlers[id]) groups[group] = { ...groups[group], [id]: handlers[id] };
  }
  return createServer({ ...definition, interface: options.interface ?? definition.interface }, groups, options);
}
