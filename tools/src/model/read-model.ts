import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { readAccess } from "./access.js";
import { camelCase, pascalCase } from "./names.js";
import { methods } from "./model.js";
import type { Group, Method, Model, Operation } from "./model.js";
import { deref } from "./openapi.js";
import type { OpenApi, OperationObject, PathItem, Schema } from "./openapi.js";
import { readParameters } from "./parameters.js";
import { readBody, readResponses } from "./payloads.js";
import { at } from "./pointer.js";
import { UnsupportedSpecError } from "./unsupported-spec-error.js";
import { checkDocument, checkPath, checkSchemas, checkUnique, routeOf } from "./supported.js";

const defaultMaxBodyBytes = 33_554_432;

/** Reads a bundled document from disk. Throws `UnsupportedSpecError` when the generators do not support it. */
export function readModel(path: string): Model {
  return parseModel(JSON.parse(readFileSync(path, "utf8")), basename(path));
}

/** As `readModel`, for a document in memory; `source` is its file name. */
export function parseModel(json: unknown, source: string): Model {
  const document = checkDocument(json);
  const groups: Group[] = (document.tags ?? []).map(({ name, description }) => ({
    key: camelCase(name),
    tag: name,
    typeName: pascalCase(name),
    description: description ?? "",
    operations: [],
  }));
  const maxBodyBytes = document["x-heddle-max-body-bytes"] ?? defaultMaxBodyBytes;
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    readPath(document, path, item, maxBodyBytes, groups),
  );
  checkUnique(operations);
  checkSchemas(document, operations);
  for (const operation of operations) groups.find(({ key }) => key === operation.group)?.operations.push(operation);
  return {
    name: source.replace(/\.json$/, ""),
    source,
    interface: document["x-heddle-interface"] === "training" ? "training" : "tracing",
    title: document.info.title,
    version: document.info.version,
    maxBodyBytes,
    groups: groups.filter((group) => group.operations.length > 0),
    operations,
    document,
  };
}

function readPath(document: OpenApi, path: string, item: PathItem, limit: number, groups: Group[]): Operation[] {
  const resolved = deref<PathItem>(document, item, at("/paths", path));
  checkPath(path, resolved.value, resolved.pointer);
  return methods.flatMap((method) => {
    const operation = resolved.value[method] as OperationObject | undefined;
    if (operation === undefined) return [];
    const pointer = at(resolved.pointer, method);
    return [readOperation({ document, path, item: resolved.value, method, operation, pointer, limit, groups })];
  });
}

interface OperationContext {
  document: OpenApi;
  path: string;
  item: PathItem;
  method: Method;
  operation: OperationObject;
  pointer: string;
  limit: number;
  groups: Group[];
}

function readOperation({
  document,
  path,
  item,
  method,
  operation,
  pointer,
  limit,
  groups,
}: OperationContext): Operation {
  const id = operation.operationId;
  if (id === undefined) throw new UnsupportedSpecError(pointer, "an operation needs an operationId");
  if (!/^[a-z][A-Za-z0-9]*$/.test(id)) {
    throw new UnsupportedSpecError(at(pointer, "operationId"), `"${id}" is not a camelCase verb phrase`);
  }
  const [tag, ...more] = operation.tags ?? [];
  const group = groups.find((candidate) => candidate.tag === tag);
  if (tag === undefined || more.length > 0)
    throw new UnsupportedSpecError(pointer, "an operation has exactly one tag: its group");
  if (group === undefined)
    throw new UnsupportedSpecError(at(pointer, "tags", 0), `tag "${tag}" is not declared in the document`);
  const aliases = operation["x-heddle-aliases"] ?? [];
  for (const [index, alias] of aliases.entries()) checkAlias(path, alias, at(pointer, "x-heddle-aliases", index));
  const responses = readResponses(document, operation, pointer);
  const success = responses
    .filter(({ status }) => status >= 200 && status < 300)
    .toSorted((a, b) => a.status - b.status)[0];
  if (success === undefined)
    throw new UnsupportedSpecError(at(pointer, "responses"), "an operation needs a 2XX response");
  const stream = success.contents.map(({ kind }) => kind).find((kind) => kind === "jsonl" || kind === "sse");
  const body = readBody(document, operation, pointer);
  if (body !== undefined && method === "get") {
    throw new UnsupportedSpecError(at(pointer, "requestBody"), "a GET request has no body");
  }
  const params = readParameters(document, path, item, operation, pointer);
  const isPublic = readPublic(document, operation, pointer);
  const access = readAccess(document, operation, { pointer, isPublic, params, ...(body && { body }) });
  return {
    id,
    typeName: pascalCase(id),
    group: group.key,
    tag,
    method,
    path,
    aliases,
    summary: operation.summary ?? "",
    description: operation.description ?? "",
    deprecated: operation.deprecated === true,
    extension: operation["x-heddle-extension"] === true,
    public: isPublic,
    ...(access && { access }),
    destructive: operation["x-heddle-destructive"] === true,
    errorObject: operation["x-heddle-error-object"] === true,
    secret: operation["x-heddle-secret"] === true,
    share: operation["x-heddle-share"] === true,
    pointer,
    params,
    ...(body && { body }),
    responses,
    success,
    ...(stream && { stream }),
    streamOptional: stream !== undefined && success.contents.some(({ kind }) => kind === "json"),
    maxBodyBytes: operation["x-heddle-max-body-bytes"] ?? limit,
  };
}

function checkAlias(path: string, alias: string, pointer: string): void {
  if (!alias.startsWith("/")) throw new UnsupportedSpecError(pointer, "an alias is a path and starts with /");
  if (parameterNames(alias) !== parameterNames(path))
    throw new UnsupportedSpecError(pointer, `an alias has the same parameters as "${path}"`);
  routeOf(alias, pointer);
}

function parameterNames(path: string): string {
  return (path.match(/\{[^}*]*/g) ?? []).toSorted().join();
}

function readPublic(document: OpenApi, operation: OperationObject, pointer: string): boolean {
  const security = operation.security ?? document.security;
  if (security === undefined)
    throw new UnsupportedSpecError(pointer, "no security is declared, for the document or the operation");
  if (security.some((choice) => Object.keys(choice).length === 0)) {
    throw new UnsupportedSpecError(
      at(pointer, "security"),
      "optional authentication is not supported: use [] or named schemes",
    );
  }
  return security.length === 0;
}

export type { Model, Operation, Schema };
