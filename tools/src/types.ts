import { readdirSync } from "node:fs";
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions } from "openapi-typescript";
import { isEntry } from "./entry.js";
import { type Model, readModel } from "./model.js";
import type { OpenApi } from "./openapi.js";
import { banner, type Files, writeFiles } from "./write.js";

/** TypeScript of a document: `paths`, `operations`, `components`. Properties with a default stay optional. */
export async function typesText(document: OpenApi, options: OpenAPITSOptions = {}): Promise<string> {
  const nodes = await openapiTS(structuredClone(document) as unknown as OpenAPI3, {
    defaultNonNullable: false,
    silent: true,
    ...options,
  });
  return astToString(nodes);
}

/** Names of the bundled documents in a directory, sorted. */
export function documentsIn(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => /^[a-z-]+\.json$/.test(name))
    .toSorted();
}

/** Types of a document as it stands, for the client and whoever reads the wire. */
export async function specTypes({ document, source, name }: Model): Promise<Files> {
  return { [`${name}.d.ts`]: banner("tools/src/types.ts", source) + (await typesText(document)) };
}

if (isEntry(import.meta.url)) {
  const [directory = "dist"] = process.argv.slice(2);
  for (const name of documentsIn(directory)) writeFiles(directory, await specTypes(readModel(`${directory}/${name}`)));
}
