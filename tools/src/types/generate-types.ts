import openapiTS, { astToString } from "openapi-typescript";
import type { OpenAPI3, OpenAPITSOptions } from "openapi-typescript";
import { isEntry } from "../entry.js";
import { documentsIn } from "../model/documents.js";
import type { Model } from "../model/model.js";
import { readModel } from "../model/read-model.js";
import type { OpenApi } from "../model/openapi.js";
import { banner, writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** TypeScript of a document: `paths`, `operations`, `components`. Properties with a default stay optional. */
export async function typesText(document: OpenApi, options: OpenAPITSOptions = {}): Promise<string> {
  const nodes = await openapiTS(structuredClone(document) as unknown as OpenAPI3, {
    defaultNonNullable: false,
    silent: true,
    ...options,
  });
  return astToString(nodes);
}

/** Types of a document without changes, for the client and for readers of requests and responses. */
export async function specTypes({ document, source, name }: Model): Promise<Files> {
  return { [`${name}.d.ts`]: banner(source) + (await typesText(document)) };
}

if (isEntry(import.meta.url)) {
  const [directory = "dist"] = process.argv.slice(2);
  for (const name of documentsIn(directory)) writeFiles(directory, await specTypes(readModel(`${directory}/${name}`)));
}
