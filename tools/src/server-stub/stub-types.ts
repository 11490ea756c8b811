import ts from "typescript";
import type { Model } from "../model/model.js";
import type { OpenApi, Schema } from "../model/openapi.js";
import { typesText } from "../types/generate-types.js";
import { itemErrorKey, requestView, responseView } from "./views.js";

/** Types of what handlers receive and return. Free JSON is `RawJson` on both sides. */
export async function stubTypes(
  model: Model,
  branches: ReadonlySet<string>,
): Promise<{ requests: string; responses: string }> {
  return {
    requests: await text(requestView(model, branches)),
    responses: await text(responseView(model)),
  };
}

const typeSources = { RawJson: "../json/raw-json.js", ItemError: "../problem.js", FilePart: "../request/multipart.js" };
type Name = keyof typeof typeSources;

async function text(view: OpenApi): Promise<string> {
  const used = new Set<Name>();
  const refer = (name: Name) => {
    used.add(name);
    return ts.factory.createTypeReferenceNode(name);
  };
  const transform = (schema: object) => {
    const flags = schema as Schema;
    if (flags["x-heddle-raw-json"]) return refer("RawJson");
    if (flags[itemErrorKey]) return refer("ItemError");
    if (flags.format === "binary") return refer("FilePart");
    return undefined;
  };
  const body = await typesText(view, { transform }, Object.keys(typeSources));
  const imports = [...used].toSorted().map((name) => `import type { ${name} } from "${typeSources[name]}";\n`);
  return imports.join("") + body;
}
