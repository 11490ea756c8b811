import type { Model, Operation } from "../model/model.js";
import { componentName } from "../model/openapi.js";

/** Adds the operations of a document to the interface `ErrorBodies`: the types of their error responses by status. */
export function errorBodies({ operations }: Model): string[] {
  const members = operations.flatMap((operation) => {
    const bodies = bodiesOf(operation);
    return bodies.length === 0 ? [] : [`    readonly ${operation.id}: { ${bodies.join("; ")} };`];
  });
  if (members.length === 0) return [];
  return ['declare module "../error-bodies.js" {', "  interface ErrorBodies {", ...members, "  }", "}", ""];
}

function bodiesOf({ id, responses }: Operation): string[] {
  return responses.flatMap(({ status, contents }) => {
    const json = contents.find(({ kind }) => kind === "json");
    if (status < 400 || json === undefined) return [];
    const indexed = `operations["${id}"]["responses"][${status}]["content"]["${json.mediaType}"]`;
    return [`${status}: ${componentName(json.schema ?? {}) ?? indexed}`];
  });
}
