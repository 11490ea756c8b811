import { readFileSync } from "node:fs";
import { join } from "node:path";
import { docComment } from "./doc-comment.js";
import { errorBodies } from "./error-bodies.js";
import { inputOf } from "./input.js";
import type { Input } from "./input.js";
import { rawPlansOf, rawPlansText } from "./raw-plans.js";
import { resultOf, withRaw } from "./result.js";
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
 * the same document, copied so that the published package does not depend on it. `<name>-raw.ts` says where responses
 * have free JSON.
 */
export function clientFiles(model: Model): Files {
  const raw = rawPlansOf(model);
  const operations = model.operations.map((operation) => ({
    operation,
    input: inputOf(operation, model.document),
    result: withRaw(resultOf(operation, model.document), operation, raw),
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
  return { [`${model.name}.ts`]: lines.join("\n"), [`${model.name}-raw.ts`]: rawPlansText(model, raw) };
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
  const types = operations.flatMap(({ result }) => result.types.map(({ type }) => type)).join();
  const plans = [...new Set(types.match(/\bPlan\d+\b/g))].toSorted((a, b) =>
    a.localeCompare(b, "en", { numeric: true }),
  );
  const hasRawBody = operations.some(({ input }) => input.type?.includes("RawBodyInput<"));
  return [
    ...(hasRawBody ? ['import type { RawBodyInput } from "../bytes.js";'] : []),
    plans.length > 0
      ? 'import type { AnyRequestOptions, Connection, RawRequestOptions, RequestOptions } from "../connection.js";'
      : 'import type { Connection, RequestOptions } from "../connection.js";',
    ...[...used.keys()]
      .toSorted()
      .map((module) => `import { ${[...used.get(module)!].toSorted().join(", ")} } from "../${module}.js";`),
    ...(plans.length > 0 ? ['import type { WithRaw } from "../raw/with-raw.js";'] : []),
    ...(plans.length > 0 ? [`import type { ${plans.join(", ")} } from "./${model.name}-raw.js";`] : []),
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
    `export function ${id}(${connection}, ${signatures.length > 1 ? result.implementation(typeName, input) : last} {`,
    ...result.body(input.expression(operation)).map((line) => `  ${line}`),
    "}",
  ];
}

function clientInterface(model: Model, operations: Emitted[]): string[] {
  return [
    `/** ${model.title}: every operation as a method. Made by \`create${pascalCase(model.interface)}Client\`. */`,
    `export interface ${pascalCase(model.interface)}Client {`,
    ...operations.flatMap((each) => memberLines(each).map((line) => `  ${line}`)),
    "}",
  ];
}

// A property, not a method: it may be destructured from the client and called by itself. Editors show the comment of the
// property, or that of the overload which is called.
function memberLines(each: Emitted): string[] {
  const { operation } = each;
  const comment = docComment(operation);
  const [signature = "", ...more] = signaturesOf(each);
  if (more.length === 0) return [...comment, `readonly ${operation.id}: (${signature.replace("): ", ") => ")};`];
  const overloads = [signature, ...more].flatMap((overload) => [...comment, `(${overload};`]);
  return [...comment, `readonly ${operation.id}: {`, ...overloads.map((line) => `  ${line}`), "};"];
}

/**
 * From the first argument after the connection to the result type: one, or two where `stream` in the input or `raw` in the
 * options decides the response.
 */
function signaturesOf({ operation, input, result }: Emitted): string[] {
  const name = `${operation.typeName}Input`;
  return result.overloads.map(({ narrowing, raw, type }) => {
    const options = raw ? "options: RawRequestOptions" : "options?: RequestOptions";
    const isOptional = input.optional && !raw;
    const given = `${name}${narrowing}${input.optional && raw ? " | undefined" : ""}`;
    const inputs = input.type ? [`input${isOptional ? "?" : ""}: ${given}`] : [];
    return `${[...inputs, options].join(", ")}): ${type(operation.typeName)}`;
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
