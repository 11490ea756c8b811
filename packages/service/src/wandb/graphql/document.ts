import { Kind, parse, print, valueFromASTUntyped } from "graphql";
import type {
  DirectiveNode,
  DocumentNode,
  FieldNode,
  FragmentDefinitionNode,
  OperationDefinitionNode,
  SelectionNode,
  SelectionSetNode,
} from "graphql";
import { HeddleError } from "@heddle/errors";
import { GraphqlError } from "./error.js";
import type { GraphqlWork } from "./work.js";

const maxLength = 100_000;
const maxTokens = 5000;
const maxDepth = 20;

/** The arguments of a field, with the values of variables in them. */
export type Arguments = Readonly<Record<string, unknown>>;

export interface Query {
  query: string;
  operationName?: string;
  variables: Record<string, unknown>;
}

/** Fields with one name in the response: their selections count together. */
export type Merged = readonly [FieldNode, ...FieldNode[]];

/** What is selected of one object. */
export type Selections = readonly SelectionSetNode[];

/** One operation of a request, with its fragments and the values of its variables. */
export class GraphqlOperation {
  readonly #definition: OperationDefinitionNode;
  readonly #fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly #variables: Record<string, unknown>;
  readonly #selections = new WeakMap<Merged, Selections>();
  readonly #fields = new WeakMap<Selections, Map<string, Map<string, Merged>>>();
  readonly #arguments = new Map<FieldNode, Arguments>();
  readonly #identities = new Map<FieldNode, string>();
  readonly #included = new Map<SelectionNode, boolean>();

  /** Throws {@link GraphqlError} for a query that cannot be read, `too_large` for one that is too long. */
  constructor({ query, operationName, variables }: Query) {
    const { definitions } = read(query);
    const operations = definitions.filter((definition) => definition.kind === Kind.OPERATION_DEFINITION);
    const definition = operations.find(({ name }) => name?.value === operationName) ?? operations[0];
    if (definition === undefined) throw new GraphqlError("the query has no operation");
    this.#definition = definition;
    const fragments = definitions.filter((found) => found.kind === Kind.FRAGMENT_DEFINITION);
    this.#fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
    // Without a prototype: `$constructor` is not a variable.
    this.#variables = Object.create(null) as Record<string, unknown>;
    for (const { variable, defaultValue } of definition.variableDefinitions ?? []) {
      this.#variables[variable.name.value] = defaultValue && valueFromASTUntyped(defaultValue);
    }
    for (const [name, value] of Object.entries(variables)) this.#variables[name] = value;
  }

  get kind(): "query" | "mutation" | "subscription" {
    return this.#definition.operation;
  }

  get selection(): SelectionSetNode {
    return this.#definition.selectionSet;
  }

  /** The selections of fields with one name; always the same list. */
  selectionsOf(merged: Merged): Selections {
    const known = this.#selections.get(merged) ?? merged.flatMap(({ selectionSet }) => selectionSet ?? []);
    this.#selections.set(merged, known);
    return known;
  }

  /** The fields of selections, with those of their fragments that apply to the type, by their names in the response. */
  async fields(selections: Selections, type = "", depth: number, work: GraphqlWork): Promise<Map<string, Merged>> {
    const byType = this.#fields.get(selections) ?? new Map<string, Map<string, Merged>>();
    this.#fields.set(selections, byType);
    const known = byType.get(type) ?? (await this.#collect(selections, type, depth, work));
    byType.set(type, known);
    return known;
  }

  async #collect(selections: Selections, type: string, depth: number, work: GraphqlWork): Promise<Map<string, Merged>> {
    const found = new Map<string, Merged>();
    const addField = (field: FieldNode): void => {
      const key = field.alias?.value ?? field.name.value;
      const others = found.get(key);
      if (others === undefined) found.set(key, [field]);
      else if (this.identityOf(others[0]) === this.identityOf(field)) found.set(key, [...others, field]);
      else throw new GraphqlError(`${key} is the name of two different fields`);
    };
    const applied = new Set<string>();
    const visit = async ({ selections: nodes }: SelectionSetNode, level: number): Promise<void> => {
      if (level > maxDepth) throw new HeddleError("too_large", `a query has at most ${maxDepth} levels`);
      for (const node of nodes) {
        work.charge("field");
        if (work.isDue) await work.pause();
        if (!this.#isIncluded(node)) continue;
        if (node.kind === Kind.FIELD) addField(node);
        else {
          if (node.kind === Kind.FRAGMENT_SPREAD) {
            if (applied.has(node.name.value)) continue;
            applied.add(node.name.value);
          }
          const fragment = node.kind === Kind.INLINE_FRAGMENT ? node : this.#fragments.get(node.name.value);
          if (fragment === undefined) throw new GraphqlError("the query lacks a fragment that it uses");
          if (appliesTo(fragment.typeCondition?.name.value, type)) await visit(fragment.selectionSet, level + 1);
        }
      }
    };
    for (const selection of selections) await visit(selection, depth);
    return found;
  }

  argumentsOf(field: FieldNode): Arguments {
    const known = this.#arguments.get(field);
    if (known !== undefined) return known;
    const given = (field.arguments ?? []).map(({ name, value }) => [
      name.value,
      valueFromASTUntyped(value, this.#variables) ?? undefined,
    ]);
    const values = Object.fromEntries(given) as Arguments;
    this.#arguments.set(field, values);
    return values;
  }

  /** A text that is equal for fields with one name and the same arguments. */
  identityOf(field: FieldNode): string {
    const known = this.#identities.get(field);
    if (known !== undefined) return known;
    const { name, arguments: args = [] } = field;
    const texts = args.map((argument) => `${argument.name.value}:${print(argument.value)}`);
    const identity = args.length === 0 ? name.value : `${name.value}(${texts.toSorted().join(",")})`;
    this.#identities.set(field, identity);
    return identity;
  }

  #isIncluded(node: SelectionNode): boolean {
    const { directives = [] } = node;
    if (directives.length === 0) return true;
    const known = this.#included.get(node);
    if (known !== undefined) return known;
    const included = directives.every((directive) => this.#permits(directive));
    this.#included.set(node, included);
    return included;
  }

  #permits({ name, arguments: args = [] }: DirectiveNode): boolean {
    const condition = args[0] && valueFromASTUntyped(args[0].value, this.#variables);
    if (name.value === "include") return condition === true;
    return name.value !== "skip" || condition !== true;
  }
}

function read(query: string): DocumentNode {
  if (query.length > maxLength) throw new HeddleError("too_large", `a query has at most ${maxLength} characters`);
  try {
    return parse(query, { noLocation: true, maxTokens });
  } catch (error) {
    const message = error instanceof Error ? error.message : "the query cannot be read";
    if (message.includes(`${maxTokens} tokens`)) {
      throw new HeddleError("too_large", `a query has at most ${maxTokens} tokens`);
    }
    throw new GraphqlError(message);
  }
}

/** The types that share an interface with others: a fragment on one of them does not apply to the others. */
const alternatives = new Set(["ArtifactSequence", "ArtifactPortfolio"]);

function appliesTo(condition: string | undefined, type: string): boolean {
  return condition === undefined || condition === type || !alternatives.has(condition);
}
