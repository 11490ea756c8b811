import library from "@heddle/tools/library.json" with { type: "json" };
import { parseModel } from "@heddle/tools/model";
import { stubOf } from "@heddle/tools/operations";
import { validatorFiles } from "@heddle/tools/validators";
import type { Checks } from "@heddle/tools/validators";
import type { GroupDefinition } from "../src/operations/definition.js";
import { handlerGroup } from "../src/operations/handler-group.js";
import type { HttpServer } from "../src/http.js";
import { createServer } from "../src/server.js";
import type { ServerOptions } from "../src/server.js";
import type { Validator } from "../src/validation/validation.js";

// The small document of the generators' golden files, run instead of written down: it uses every feature there is.

const model = parseModel(library, "library.json");

async function compiled(checks: Checks): Promise<Record<string, Validator>> {
  const code = validatorFiles("checks", model, checks)["checks.js"] ?? "";
  return (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as Record<string, Validator>;
}

export const groups: readonly GroupDefinition[] = await Promise.all(
  model.groups.map(async ({ key, operations }) => {
    const stub = stubOf(model, operations);
    let responseValidators: Promise<Record<string, Validator>> | undefined;
    return {
      interface: model.interface,
      group: key,
      operations: stub.operations as GroupDefinition["operations"],
      plans: stub.plans,
      validators: await compiled(stub.checks),
      responseValidators: () => (responseValidators ??= compiled(stub.responseChecks)),
    };
  }),
);

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
  options: ServerOptions<unknown> & { interface?: GroupDefinition["interface"] } = {},
): HttpServer {
  const definitions = groups.map((group) => ({ ...group, interface: options.interface ?? group.interface }));
  return createServer(
    definitions.map((definition) => handlerGroup<unknown>(definition, handlers)),
    options,
  );
}
