import type { Group, Model, Operation } from "../model/model.js";
import type { Schema } from "../model/openapi.js";
import type { Parameter } from "../model/parameters.js";
import { kebabCase } from "../model/names.js";
import { compact, isLossy } from "./plan-table.js";
import type { PlanEntry } from "./plan-table.js";
import { Plans } from "./plans.js";
import { jsDoc } from "./handlers.js";
import { deref } from "../model/openapi.js";
import type { Checks } from "./validators.js";

/** The data of the server stub for some operations of a document, before it is written as source or run. */
export interface Stub {
  operations: object[];
  plans: PlanEntry[];
  /** Schemas of the validators of requests, by name. */
  checks: Checks;
  /** Schemas of the validators of success responses, by name. */
  responseChecks: Checks;
  /** As in `Plans`. */
  branches: ReadonlySet<string>;
}

interface Draft {
  plans: Plans;
  checks: Checks;
  responseChecks: Checks;
}

/** Table of the operations, reading plans, and the validators that both refer to. */
export function stubOf(model: Model, members: readonly Operation[] = model.operations): Stub {
  const draft: Draft = { plans: new Plans(model.document), checks: {}, responseChecks: {} };
  const operations = members.map((operation) => entryOf(model, operation, draft));
  for (const [name, schema] of draft.plans.lenient) draft.checks[name] = schema;
  const { entries, indexOf } = compact(draft.plans.entries);
  return {
    operations: operations.map((entry) => entry(indexOf)),
    plans: entries,
    checks: draft.checks,
    responseChecks: draft.responseChecks,
    branches: draft.plans.branches,
  };
}

/** The module of one group: its data, and the function that takes its handlers. */
export function groupText(model: Model, { key, typeName, tag, description }: Group, stub: Stub): string {
  const file = kebabCase(key);
  return `import type { GroupDefinition } from "../../operations/definition.js";
import { handlerGroup } from "../../operations/handler-group.js";
import type { HandlerGroup } from "../../operations/handler-group.js";
import type { ${typeName}Handlers } from "../${model.name}.handlers.js";
import * as validators from "../validators/${model.name}/${file}.js";

export const definition: GroupDefinition = {
  interface: "${model.interface}",
  group: "${key}",
  operations: [
${list(stub.operations)}  ],
  plans: [
${list(stub.plans)}  ],
  validators,
};

${jsDoc(`Handlers of the group ${tag}, for \`createServer\`.${description.trim() === "" ? "" : `\n\n${description.trim()}`}`)}
export function ${key}<Caller>(handlers: Partial<${typeName}Handlers<Caller>>): HandlerGroup<Caller> {
  return handlerGroup(definition, handlers);
}
`;
}

/** Every group of the document, with the checks of responses, which are loaded when they are used. */
export function groupsText({ name, groups }: Model): string {
  const entries = groups.map(({ key }) => {
    const load = `() => import("./response-validators/${name}/${kebabCase(key)}.js")`;
    return `  { ...${key}, responseValidators: ${load} },\n`;
  });
  return `import type { GroupDefinition } from "../operations/definition.js";
${groups.map(({ key }) => `import { definition as ${key} } from "./${name}/${kebabCase(key)}.js";\n`).join("")}
export const groups: readonly GroupDefinition[] = [
${entries.join("")}];
`;
}

function list(items: object[]): string {
  return items.map((item) => `    ${JSON.stringify(item)},\n`).join("");
}

type IndexOf = (plan: number) => number;

function entryOf(model: Model, operation: Operation, draft: Draft): (indexOf: IndexOf) => object {
  const { id, group, method, path, aliases, params } = operation;
  const body = bodyOf(model, operation, draft);
  const response = responseOf(operation, draft);
  const inputs = {
    ...parametersOf(id, "path", params, draft),
    ...parametersOf(id, "query", params, draft),
    ...parametersOf(id, "header", params, draft),
  };
  return (indexOf) => ({
    id,
    group,
    method: method.toUpperCase(),
    paths: [path, ...aliases],
    public: operation.public,
    ...(operation.errorObject && { errorObject: true }),
    ...(operation.share && { share: true }),
    ...(operation.access && { access: operation.access }),
    ...inputs,
    ...(body && { body: body(indexOf) }),
    response,
  });
}

function parametersOf(id: string, location: Parameter["in"], all: Parameter[], { checks }: Draft): object {
  const params = all.filter((param) => param.in === location);
  if (params.length === 0) return {};
  const validator = `${id}_${location}`;
  checks[validator] = {
    type: "object",
    properties: Object.fromEntries(params.map(({ name, schema }) => [name, schema])),
    required: params.filter(({ required }) => required).map(({ name }) => name),
  };
  const entries = params.map(({ name, type, array, default: fallback }) => ({
    name,
    type,
    ...(array && { array }),
    ...(fallback !== undefined && fallback !== null && { default: fallback }),
  }));
  return { [location]: { entries, validator } };
}

function bodyOf(model: Model, { id, body, maxBodyBytes }: Operation, { plans, checks }: Draft) {
  if (body === undefined) return undefined;
  const { kind, required, streamed, mediaTypes, schema, pointer } = body;
  const common = { kind, required, mediaTypes, maxBytes: maxBodyBytes, ...(streamed && { streamed }) };
  if (schema === undefined) return () => common;
  const validator = `${id}_body`;
  checks[validator] = schema;
  if (kind === "multipart") return () => ({ ...common, validator, files: filesOf(model, schema, pointer) });
  const plan = plans.planOf(schema, pointer);
  const exact = isLossy(plans.entries, plan) && { exact: true };
  return (indexOf: IndexOf) => ({ ...common, plan: indexOf(plan), validator, ...exact });
}

function filesOf({ document }: Model, schema: Schema, pointer: string): string[] {
  const { value } = deref<Schema>(document, schema, pointer);
  return Object.entries(value.properties ?? {})
    .filter(([, part]) => deref<Schema>(document, part, pointer).value.format === "binary")
    .map(([name]) => name);
}

function responseOf({ id, success, stream, secret }: Operation, { responseChecks }: Draft): object {
  const json = success.contents.find(({ kind }) => kind === "json");
  const item = success.contents.find(({ kind }) => kind === stream);
  const bytes = success.contents.find(({ kind }) => kind === "bytes");
  if (json?.schema) responseChecks[`${id}_response`] = json.schema;
  if (item?.schema) responseChecks[`${id}_item`] = item.schema;
  return {
    status: success.status,
    json: json !== undefined,
    ...(stream && { stream }),
    ...(secret && { secret }),
    ...(bytes && { bytes: bytes.mediaType }),
    ...(json && { validator: `${id}_response` }),
    ...(item && { itemValidator: `${id}_item` }),
  };
}
