import type { Model, Operation, Parameter, Schema } from "./model.js";
import { Plans } from "./plans.js";
import { deref } from "./openapi.js";
import type { Checks } from "./validators.js";

/** What the server stub does with a document, before it is written down. */
export interface Stub {
  plans: Plans;
  /** Entries of the table, to be told where the plans ended up. */
  operations: ((indexOf: (place: number) => number) => object)[];
  /** Validators of requests. */
  checks: Checks;
  /** Validators of success answers. */
  answerChecks: Checks;
}

/** Table of operations, reading plans, and the names of the validators that both refer to. */
export function stubOf(model: Model): Stub {
  const stub: Stub = { plans: new Plans(model.document), operations: [], checks: {}, answerChecks: {} };
  for (const operation of model.operations) stub.operations.push(entryOf(model, operation, stub));
  for (const [name, schema] of stub.plans.lenient) stub.checks[name] = schema;
  return stub;
}

function list(items: object[]): string {
  return items.map((item) => `    ${JSON.stringify(item)},\n`).join("");
}

export function operationsText(model: Model, { operations, plans }: Stub): string {
  const { entries, indexOf } = plans.compact();
  return `import type { Definition } from "../definition.js";
import * as validators from "./${model.name}.validators.js";

export const definition: Definition = {
  interface: "${model.interface}",
  operations: [
${list(operations.map((operation) => operation(indexOf)))}  ],
  plans: [
${list(entries)}  ],
  validators,
  answerValidators: () => import("./${model.name}.answer-validators.js"),
};
`;
}

function entryOf(model: Model, operation: Operation, stub: Stub): Stub["operations"][number] {
  const { id, group, method, path, aliases, params } = operation;
  const body = bodyOf(model, operation, stub);
  const answer = answerOf(operation, stub);
  const inputs = {
    ...parametersOf(id, "path", params, stub),
    ...parametersOf(id, "query", params, stub),
    ...parametersOf(id, "header", params, stub),
  };
  return (indexOf) => ({
    id,
    group,
    method: method.toUpperCase(),
    paths: [path, ...aliases],
    public: operation.public,
    ...inputs,
    ...(body && { body: body(indexOf) }),
    answer,
  });
}

function parametersOf(id: string, place: Parameter["in"], all: Parameter[], { checks }: Stub): object {
  const params = all.filter((param) => param.in === place);
  if (params.length === 0) return {};
  const validator = `${id}_${place}`;
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
  return { [place]: { entries, validator } };
}

function bodyOf(model: Model, { id, body, maxBodyBytes }: Operation, { plans, checks }: Stub) {
  if (body === undefined) return undefined;
  const { kind, required, mediaTypes, schema, pointer } = body;
  const common = { kind, required, mediaTypes, maxBytes: maxBodyBytes };
  if (schema === undefined) return () => common;
  const validator = `${id}_body`;
  checks[validator] = schema;
  if (kind === "multipart") return () => ({ ...common, validator, files: filesOf(model, schema, pointer) });
  const place = plans.place(schema, pointer);
  return (indexOf: (place: number) => number) => ({ ...common, plan: indexOf(place), validator });
}

function filesOf({ document }: Model, schema: Schema, pointer: string): string[] {
  const { value } = deref<Schema>(document, schema, pointer);
  return Object.entries(value.properties ?? {})
    .filter(([, part]) => deref<Schema>(document, part, pointer).value.format === "binary")
    .map(([name]) => name);
}

function answerOf({ id, success, stream }: Operation, { answerChecks }: Stub): object {
  const json = success.contents.find(({ kind }) => kind === "json");
  const item = success.contents.find(({ kind }) => kind === stream);
  const bytes = success.contents.find(({ kind }) => kind === "bytes");
  if (json?.schema) answerChecks[`${id}_answer`] = json.schema;
  if (item?.schema) answerChecks[`${id}_item`] = item.schema;
  return {
    status: success.status,
    json: json !== undefined,
    ...(stream && { stream }),
    ...(bytes && { bytes: bytes.mediaType }),
    ...(json && { validator: `${id}_answer` }),
    ...(item && { itemValidator: `${id}_item` }),
  };
}
