import { basename } from "node:path";
import { readdirSync } from "node:fs";
import openapiTS, { astToString, type OpenAPI3, type OpenAPITSOptions } from "openapi-typescript";
import { isEntry } from "./entry.js";
import { readModel } from "./model.js";
import type { OpenApi } from "./openapi.js";
import { banner, writeFiles } from "./write.js";

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

if (isEntry(import.meta.url)) {
  const [directory = "dist"] = process.argv.slice(2);
  for (const name of documentsIn(directory)) {
    const { document, source } = readModel(`${directory}/${name}`);
    const text = banner("tools/src/types.ts", source) + (await typesText(document));
    writeFiles(directory, { [`${basename(name, ".json")}.d.ts`]: text });
  }
}
