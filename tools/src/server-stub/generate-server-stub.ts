import { join } from "node:path";
import { isEntry } from "../entry.js";
import { handlersText } from "./handlers.js";
import type { Model } from "../model/model.js";
import { readModel } from "../model/read-model.js";
import { operationsText, stubOf } from "./operations.js";
import { stubTypes } from "./stub-types.js";
import { documentsIn } from "../model/documents.js";
import { validatorFiles } from "./validators.js";
import { banner, writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** Everything the server stub needs of one document, as files named after it. */
export async function stubFiles(model: Model): Promise<Files> {
  const head = banner(model.source);
  const stub = stubOf(model);
  const types = await stubTypes(model, stub.branches);
  return {
    [`${model.name}.requests.ts`]: head + types.requests,
    [`${model.name}.responses.ts`]: head + types.responses,
    [`${model.name}.handlers.ts`]: head + handlersText(model),
    [`${model.name}.operations.ts`]: head + operationsText(model, stub),
    ...validatorFiles(`${model.name}.validators`, model, stub.checks),
    ...validatorFiles(`${model.name}.response-validators`, model, stub.responseChecks),
  };
}

if (isEntry(import.meta.url)) {
  const [source = "spec/dist", target = "src/generated"] = process.argv.slice(2);
  for (const name of documentsIn(source)) {
    writeFiles(target, await stubFiles(readModel(join(source, name))));
  }
}
