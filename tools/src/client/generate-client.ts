import { readFileSync } from "node:fs";
import { join } from "node:path";
import { docComment } from "./doc-comment.js";
import { errorBodies } from "./error-bodies.js";
import { inputOf } from "./input.js";
import type { Input } from "./input.js";
import { resultOf } from "./result.js";
import type { Result } from "./result.js";
import { isEntry } from "../entry.js";
import type { Model, Operation } from "../model/model.js";
import { at } from "../model/pointer.js";
import { readModel } from "../model/read-model.js";
import { UnsupportedSpecError } from "../model/unsupported-spec-error.js";
import { pascalCase } from "../model/names.js";
import { documentsIn } from "../model/documents.js";
import { banner, writeFiles } from "../generated-files.js";
import type { Files } from "../generated-files.js";

/**
 * One module per interface: a function per operation that takes a connection, its types, and the interface of the
 * client object that has them all as methods. It imports `<name>-types.ts`: what openapi-typescript made of
 * the same document, copied so that the published package does not depend on it.
 */
export function clientFiles(model: Model): Files {
  const operations = model.operations.map((operation) => ({
    operation,
    input: inputOf(operation, model.document),
    result: resultOf(operation, model.document),
  }));
  const lines = [
    banner(model.source),
    ...imports(model, operations),
    "",
    ...schemaExports(model, operations),
    '/** The schemas of the document by name: `Schemas["…"]`. */',
    'export type Schemas = components["schemas"];',
    ...operations.flatMap((each) => ["", ...operationLines(model, each)]),
    "",
    ...clientInterface(model, operations),
    "",
    ...errorBodies(model),
  ];
  return { [`${model.name}.ts`]: lines.join("\n") };
}

interface Emitted {
  operation: Operation;
  input: Input;
  result: Result;
}

/** The run-time module of each function that the output may use. */
const runtimeModules: Record<string, string> = {
  readBytes: "bytes",
  withBytes: "bytes",
  readEvents: "events",
  withForm: "form",
  readJson: "json",
  readJsonLines: "json-lines",
  withJson: "outgoing",
  withQuery: "outgoing",
  readPages: "pages",
};

function imports(model: Model, operations: Emitted[]): string[] {
  const used = new Map<string, Set<string>>();
  for (const name of operations.flatMap(({ input, result }) => [input.writer, ...result.readers])) {
    const module = runtimeModules[name]!;
    used.set(module, (used.get(module) ?? new Set()).add(name));
  }
  const hasRawBody = operations.some(({ input }) => input.type?.includes("RawBodyInput<"));
  return [
    ...(hasRawBody ? ['import type { RawBodyInput } from "../bytes.js";'] : []),
    'import type { Connection, RequestOptions } from "../connection.js";',
    ...[...used.keys()]
      .toSorted()
      .map((module) => `import { ${[...used.get(module)!].toSorted().join(", ")} } from "../${module}.js";`),
    `import type { components, ${["operations", ...schemaNames(model)].join(", ")} } from "./${model.name}-types.js";`,
  ];
}

/** The schemas under their own names. */
function schemaExports(model: Model, operations: Emitted[]): string[] {
  const generated = operations.flatMap(({ operation: { typeName }, result }) => [
    `${typeName}Input`,
    ...result.types.map(({ name }) => `${typeName}${name}`),
  ]);
  const taken = new Set([
    ...generated,
    "Schemas",
    "Connection",
    "RequestOptions",
    `${pascalCase(model.interface)}Client`,
  ]);
  for (const name of schemaNames(model)) {
    if (taken.has(name))
      throw new UnsupportedSpecError(at("/components/schemas", name), "the client has a type of this name; rename one");
  }
  return schemaNames(model).length === 0 ? [] : [`export type { ${schemaNames(model).join(", ")} };`, ""];
}

function schemaNames({ document }: Model): string[] {
  return Object.keys(document.components?.schemas ?? {}).toSorted();
}

function operationLines(model: Model, { operation, input, result }: Emitted): string[] {
  const { id, typeName } = operation;
  const connection = `connection: Connection<"${model.interface}">`;
  const signatures = signaturesOf({ operation, input, result });
  const last = signatures.at(-1)!;
  return [
    ...(input.type ? [`export type ${typeName}Input = ${input.type};`] : []),
    ...result.types.map(({ name, type }) => `export type ${typeName}${name} = ${type};`),
    ...docComment(operation),
    ...(signatures.length > 1
      ? signatures.map((signature) => `export function ${id}(${connection}, ${signature};`)
      : []),
    `export function ${id}(${connection}, ${signatures.length > 1 ? result.implementation(typeName) : last} {`,
    ...result.body(input.expression(operation)).map((line) => `  ${line}`),
    "}",
  ];
}

function clientInterface(model: Model, operations: Emitted[]): string[] {
  return [
    `/** ${model.title}: every operation as a method. Made by \`create${pascalCase(model.interface)}Client\`. */`,
    `export interface ${pascalCase(model.interface)}Client {`,
    ...operations.flatMap((each) => [
      ...docComment(each.operation).map((line) => `  ${line}`),
      `  readonly ${each.operation.id}: ${memberType(each)};`,
    ]),
    "}",
  ];
}

// A property, not a method: it may be destructured from the client and called by itself.
function memberType(each: Emitted): string {
  const [signature = "", ...more] = signaturesOf(each);
  if (more.length === 0) return `(${signature.replace("): ", ") => ")}`;
  return `{ ${[signature, ...more].map((overload) => `(${overload};`).join(" ")} }`;
}

/** From the first argument after the connection to the result type: one, or two where `stream` decides the response. */
function signaturesOf({ operation, input, result }: Emitted): string[] {
  const name = `${operation.typeName}Input`;
  return result.overloads.map(({ narrowing, type }) => {
    const inputs = input.type ? [`input${input.optional ? "?" : ""}: ${name}${narrowing}`] : [];
    return `${[...inputs, "options?: RequestOptions"].join(", ")}): ${type(operation.typeName)}`;
  });
}

/** Writes the generated modules of all bundled documents in `source` below `target`. */
export function generateClient(source: string, target: string): void {
  for (const document of documentsIn(source)) {
    const model = readModel(join(source, document));
    const types = readFileSync(join(source, `${model.name}.d.ts`), "utf8");
    writeFiles(target, { ...clientFiles(model), [`${model.name}-types.ts`]: types });
  }
}

if (isEntry(import.meta.url)) generateClient(process.argv[2] ?? "spec/dist", process.argv[3] ?? "src/generated");
