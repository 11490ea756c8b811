import type { Model } from "../model/model.js";
import type { OpenApi } from "../model/openapi.js";
import { at } from "../model/pointer.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { requestView, responseView } from "./views.js";

/** Statements that export each schema under its name; one that both directions use in the form of requests. */
export function schemaExports(model: Model): string[] {
  // The objects whose defaults stay out of requests make no difference to the names.
  const requests = namesIn(requestView(model, new Set()));
  const responses = namesIn(responseView(model)).filter((name) => !requests.includes(name));
  const generated = new Set(
    model.operations.flatMap(({ typeName }) => ["Request", "Response", "Item"].map((suffix) => typeName + suffix)),
  );
  for (const name of [...requests, ...responses]) {
    if (!generated.has(name) && !name.endsWith("Handlers")) continue;
    const pointer = at("/components/schemas", name);
    throw new UnsupportedSpecError(pointer, "the server stub has a type of this name; rename one");
  }
  return [
    ...exportsOf(requests, `./${model.name}.requests.js`),
    ...exportsOf(responses, `./${model.name}.responses.js`),
  ];
}

function namesIn(view: OpenApi): string[] {
  return Object.keys(view.components?.schemas ?? {}).toSorted();
}

function exportsOf(names: string[], module: string): string[] {
  return names.length === 0 ? [] : [`export type { ${names.join(", ")} } from "${module}";`];
}
