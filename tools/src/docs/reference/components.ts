import { componentName, deref } from "../../model/openapi.js";
import type { OpenApi, Schema } from "../../model/openapi.js";
import type { Model, Operation } from "../../model/model.js";
import type { Content, DescribedResponse } from "../../model/payloads.js";
import { kebabCase } from "../page/page.js";

/** The page that describes each component schema of a document, as its path on the site. */
export type ComponentPages = ReadonlyMap<string, string>;

/**
 * A schema that one operation uses is on its page, one that several of a group use on the group's page of types, and all
 * others on the page of shared types. Schemas that only shared error responses use are on the page of errors.
 */
export function componentPages(model: Model): ComponentPages {
  const users = new Map<string, Operation[]>();
  for (const operation of model.operations) {
    for (const name of componentsOf(model.document, schemasOf(operation))) {
      users.set(name, [...(users.get(name) ?? []), operation]);
    }
  }
  const errors = componentsOf(
    model.document,
    sharedResponses(model).flatMap(({ response }) => schemasIn(response)),
  );
  const pages = new Map<string, string>();
  for (const name of Object.keys(model.document.components?.schemas ?? {})) {
    const [first, ...more] = users.get(name) ?? [];
    if (first === undefined) {
      if (errors.has(name)) pages.set(name, `${model.name}/errors`);
    } else if (more.length === 0) pages.set(name, operationPath(model, first));
    else if (more.every(({ group }) => group === first.group)) pages.set(name, typesPath(model, first.group));
    else pages.set(name, typesPath(model));
  }
  return pages;
}

export function operationPath(model: Model, { id }: Operation): string {
  return `${model.name}/${kebabCase(id)}`;
}

/** The page of types of a group, or that of shared types. */
export function typesPath(model: Model, group?: string): string {
  return `${model.name}/${group === undefined ? "" : `${kebabCase(group)}-`}types`;
}

/** Components that schemas lead to, themselves included, in the order of reading. */
export function componentsOf(document: OpenApi, schemas: readonly Schema[]): Set<string> {
  const found = new Set<string>();
  const visit = (schema: Schema): void => {
    const name = componentName(schema);
    if (name !== undefined) {
      if (found.has(name)) return;
      found.add(name);
      visit(document.components?.schemas?.[name] ?? {});
      return;
    }
    for (const child of childrenOf(schema)) visit(child);
  };
  for (const schema of schemas) visit(schema);
  return found;
}

function childrenOf(schema: Schema): Schema[] {
  const { properties, additionalProperties, items, prefixItems = [], allOf = [], anyOf = [], oneOf = [] } = schema;
  return [
    ...Object.values(properties ?? {}),
    ...(typeof additionalProperties === "object" ? [additionalProperties] : []),
    ...(items === undefined ? [] : [items]),
    ...prefixItems,
    ...allOf,
    ...anyOf,
    ...oneOf,
  ];
}

/** Schemas of parameters, body and responses, without those of shared responses. */
function schemasOf({ params, body, responses }: Operation): Schema[] {
  const own = responses.filter((response) => sharedName(response) === undefined);
  return [
    ...params.map(({ schema }) => schema),
    ...(body?.schema === undefined ? [] : [body.schema]),
    ...own.flatMap(schemasIn),
  ];
}

export function schemasIn({ contents }: DescribedResponse): Schema[] {
  return contents.flatMap(({ schema }) => (schema === undefined ? [] : [schema]));
}

const shared = "/components/responses/";

/** Name of the shared response that a response of an operation is, if it is one. */
export function sharedName({ contents: [content] }: { contents: Pick<Content, "pointer">[] }): string | undefined {
  return content?.pointer.startsWith(shared) ? content.pointer.slice(shared.length).split("/")[0] : undefined;
}

export interface SharedResponse {
  name: string;
  response: DescribedResponse;
}

/** Every shared response that an operation has, by status. A name with several statuses is listed with each. */
export function sharedResponses({ operations }: Model): SharedResponse[] {
  const found = new Map<string, SharedResponse>();
  for (const response of operations.flatMap(({ responses }) => responses)) {
    const name = sharedName(response);
    if (name !== undefined) found.set(`${response.status} ${name}`, { name, response });
  }
  return [...found.values()].toSorted((a, b) => a.response.status - b.response.status);
}

/** The schema that a body or response names, followed to what it is. */
export function resolved(document: OpenApi, schema: Schema): Schema {
  return deref<Schema>(document, schema, "").value;
}
