import { join } from "node:path";
import { isEntry } from "../entry.js";
import { handlersText } from "./handlers.js";
import type { Group, Model } from "../model/model.js";
import { kebabCase } from "../model/names.js";
import { readModel } from "../model/read-model.js";
import { groupsText, groupText, stubOf } from "./operations.js";
import { stubTypes } from "./stub-types.js";
import { documentsIn } from "../model/documents.js";
import { validatorFiles } from "./validators.js";
import type { CompiledChecks } from "./validators.js";
import { banner, removeOtherFiles, writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/** Everything the server stub needs of one document. Each group is a module, so that a program can have some of them. */
export async function stubFiles(model: Model, compiled?: CompiledChecks): Promise<Files> {
  const head = banner(model.source);
  const groups = model.groups.map((group) => groupFiles(model, group, compiled));
  const types = await stubTypes(model, new Set(groups.flatMap(({ branches }) => [...branches])));
  return {
    [`${model.name}.requests.ts`]: head + types.requests,
    [`${model.name}.responses.ts`]: head + types.responses,
    [`${model.name}.handlers.ts`]: head + handlersText(model),
    [`${model.name}.groups.ts`]: head + groupsText(model),
    ...Object.assign({}, ...groups.map(({ files }) => files)),
  };
}

function groupFiles(
  model: Model,
  group: Group,
  compiled?: CompiledChecks,
): { files: Files; branches: ReadonlySet<string> } {
  const stub = stubOf(model, group.operations);
  const path = `${model.name}/${kebabCase(group.key)}`;
  const files = {
    [`${path}.ts`]: banner(model.source) + groupText(model, group, stub),
    ...validatorFiles(`validators/${path}`, model, stub.checks, compiled),
    ...validatorFiles(`response-validators/${path}`, model, stub.responseChecks, compiled),
  };
  return { files, branches: stub.branches };
}

/** Writes the generated modules of all bundled documents in `source` below `target`, and removes those of groups that are gone. */
export async function generateServerStub(source: string, target: string, compiled?: CompiledChecks): Promise<void> {
  const files: Files = {};
  for (const name of documentsIn(source))
    Object.assign(files, await stubFiles(readModel(join(source, name)), compiled));
  writeFiles(target, files);
  removeOtherFiles(target, files);
}

if (isEntry(import.meta.url))
  await generateServerStub(process.argv[2] ?? "spec/dist", process.argv[3] ?? "src/generated");
