import openapiTS, { astToString } from "openapi-typescript";
import type { OpenAPI3, OpenAPITSOptions } from "openapi-typescript";
import type { Model } from "../model/model.js";
import type { Limits, OpenApi } from "../model/openapi.js";
import { banner } from "../generated-files.js";
import type { Files } from "../generated-files.js";
import { nameSchemas } from "./named-schemas.js";
import { withSchemaDocs } from "./schema-docs.js";

/**
 * TypeScript of a document: a type per schema, `paths`, `operations`, `components`. Properties with a default stay
 * optional. `imported` are the names that `options` brings in.
 */
export async function typesText(
  document: OpenApi,
  options: OpenAPITSOptions = {},
  imported: readonly string[] = [],
): Promise<string> {
  const nodes = await openapiTS(withSchemaDocs(document) as unknown as OpenAPI3, {
    defaultNonNullable: false,
    silent: true,
    ...options,
  });
  return astToString(nameSchemas(nodes, [...ownNames, ...imported]));
}

/** What openapi-typescript declares itself, and the global types it uses. */
const ownNames = [
  "paths",
  "webhooks",
  "components",
  "operations",
  "Record",
  "Omit",
  "Extract",
  "WithRequired",
  "OneOf",
];

/** Types of a document without changes, for the client and for readers of requests and responses. */
export async function specTypes({ document, source, name }: Model): Promise<Files> {
  return { [`${name}.d.ts`]: banner(source) + (await typesText(document)) };
}

/** The `x-heddle-limits` of schemas as constants, for the code that keeps them. */
export function specLimits({ document, source, name }: Model): Files {
  const schemas = Object.entries(document.components?.schemas ?? {});
  const limits = schemas.flatMap(([schema, value]) => {
    const found = value["x-heddle-limits"];
    return found === undefined ? [] : [[schema, found] as const];
  });
  if (limits.length === 0) return {};
  const text = JSON.stringify(Object.fromEntries(limits), null, 2);
  return {
    [`${name}-limits.js`]: `${banner(source)}export const limits = ${text};\n`,
    [`${name}-limits.d.ts`]: `${banner(source)}export declare const limits: ${readonlyType(Object.fromEntries(limits))};\n`,
  };
}

function readonlyType(limits: Limits): string {
  const members = Object.entries(limits).map(
    ([name, value]) => `readonly ${name}: ${typeof value === "number" ? "number" : readonlyType(value)}`,
  );
  return `{ ${members.join("; ")} }`;
}
