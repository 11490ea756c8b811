import { Kind, parse, valueFromASTUntyped } from "graphql";
import type { DirectiveNode, DocumentNode, FieldNode, FragmentDefinitionNode, SelectionSetNode } from "graphql";
import { GraphqlError } from "./graphql-error.js";

/** What a field can be: a value, a list, an object of fields, or a function of the field's arguments that returns one. */
export type Fields = Readonly<Record<string, unknown>>;

/** The arguments of a field, with the values of variables in them. */
export type Arguments = Readonly<Record<string, unknown>>;

export interface Query {
  query: string;
  operationName?: string;
  variables: Record<string, unknown>;
}

const maxTokens = 5000;
const maxDepth = 20;
/** Selected fields and fragments, each as often as it is applied to an object. */
const maxNodes = 100_000;

/**
 * Selects from `roots` what a query asks for. There is no schema: a field that an object does not have is null. Throws
 * {@link GraphqlError} for a query that cannot be read, that selects too much, or whose root field is unknown.
 */
export async function select(request: Query, roots: Fields): Promise<Record<string, unknown>> {
  const document = read(request.query);
  const operations = document.definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
  const operation = operations.find(({ name }) => name?.value === request.operationName) ?? operations[0];
  if (operation === undefined) throw new GraphqlError("the query has no operation");
  const defaults = operation.variableDefinitions?.map(({ variable, defaultValue }) => [
    variable.name.value,
    defaultValue && valueFromASTUntyped(defaultValue),
  ]);
  const selection = new Selection(document, { ...Object.fromEntries(defaults ?? []), ...request.variables });
  for (const { name } of selection.fieldsOf(operation.selectionSet, undefined, 0)) {
    if (Object.hasOwn(roots, name.value)) continue;
    throw new GraphqlError(`Heddle supports only ${Object.keys(roots).join(", ")} here, not ${name.value}`);
  }
  return (await selection.of(roots, operation.selectionSet, 0)) as Record<string, unknown>;
}

function read(query: string): DocumentNode {
  try {
    return parse(query, { noLocation: true, maxTokens });
  } catch (error) {
    throw new GraphqlError(error instanceof Error ? error.message : "the query cannot be read");
  }
}

class Selection {
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Record<string, unknown>;
  #nodes = 0;

  constructor({ definitions }: DocumentNode, variables: Record<string, unknown>) {
    const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
    this.#variables = variables;
  }

  async of(value: unknown, selected: SelectionSetNode | undefined, depth: number): Promise<unknown> {
    if (Array.isArray(value)) {
      return await Promise.all(value.map(async (item: unknown) => await this.of(item, selected, depth)));
    }
    if (selected === undefined || typeof value !== "object" || value === null) return value;
    const result: Record<string, unknown> = {};
    for (const field of this.fieldsOf(selected, typeNameOf(value), depth)) {
      const own: unknown = (value as Fields)[field.name.value];
      const found: unknown =
        typeof own === "function" ? await (own as (args: Arguments) => unknown)(this.#argumentsOf(field)) : own;
      const key = field.alias?.value ?? field.name.value;
      result[key] = (await this.of(found, field.selectionSet, depth + 1)) ?? null;
    }
    return result;
  }

  /** The fields of a selection, with those of its fragments, in order. */
  *fieldsOf(selected: SelectionSetNode, type: string | undefined, depth: number): Generator<FieldNode> {
    if (depth > maxDepth) throw new GraphqlError(`a query has at most ${maxDepth} levels`);
    for (const node of selected.selections) {
      if (++this.#nodes > maxNodes) throw new GraphqlError(`a query selects at most ${maxNodes} times`);
      if (!this.#isIncluded(node.directives)) continue;
      if (node.kind === Kind.FIELD) yield node;
      else {
        const fragment = node.kind === Kind.INLINE_FRAGMENT ? node : this.#fragments.get(node.name.value);
        if (fragment === undefined) throw new GraphqlError("the query lacks a fragment that it uses");
        if (appliesTo(fragment.typeCondition?.name.value, type)) {
          yield* this.fieldsOf(fragment.selectionSet, type, depth + 1);
        }
      }
    }
  }

  #isIncluded(directives: readonly DirectiveNode[] | undefined): boolean {
    return (directives ?? []).every(({ name, arguments: args = [] }) => {
      const condition = args[0] && valueFromASTUntyped(args[0].value, this.#variables);
      if (name.value === "include") return condition === true;
      return name.value !== "skip" || condition !== true;
    });
  }

  #argumentsOf({ arguments: args = [] }: FieldNode): Arguments {
    return Object.fromEntries(
      args.map(({ name, value }) => [name.value, valueFromASTUntyped(value, this.#variables) ?? undefined]),
    );
  }
}

/** The types that share an interface with others: a fragment on one of them does not apply to the others. */
const alternatives = new Set(["ArtifactSequence", "ArtifactPortfolio"]);

function appliesTo(condition: string | undefined, type: string | undefined): boolean {
  return condition === undefined || condition === type || !alternatives.has(condition);
}

function typeNameOf(value: object): string | undefined {
  const name: unknown = "__typename" in value ? value.__typename : undefined;
  return typeof name === "string" ? name : undefined;
}
