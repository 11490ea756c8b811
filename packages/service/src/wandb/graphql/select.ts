import type { FieldNode } from "graphql";
import { GraphqlError } from "./error.js";
import { GraphqlOperation } from "./document.js";
import type { Arguments, Merged, Query, Selections } from "./document.js";
import type { GraphqlWork } from "./work.js";
import { JsonPieces } from "./json-pieces.js";

/**
 * What an object can be asked for: values, lists, objects of fields, and functions of the field's arguments that return one.
 * A function runs where its field is selected, once for the same arguments.
 */
export type Fields = Readonly<Record<string, unknown>>;

export interface Roots {
  query: Fields;
  /** Each runs as often as it is selected, one after the other. */
  mutation: Fields;
}

/**
 * Writes what a query selects from the roots. There is no schema: a field that an object does not have is null. Throws
 * {@link GraphqlError} for a query that cannot be read or whose root field is unknown, and what `work` throws for one that
 * selects too much.
 */
export async function select(request: Query, roots: Roots, work: GraphqlWork): Promise<JsonPieces> {
  const operation = new GraphqlOperation(request);
  const { kind } = operation;
  if (kind === "subscription") throw new GraphqlError("subscriptions are not supported");
  const root = roots[kind];
  const fields = await operation.fields([operation.selection], undefined, 0, work);
  for (const [{ name }] of fields.values()) {
    if (Object.hasOwn(root, name.value)) continue;
    throw new GraphqlError(`a ${kind} can select ${Object.keys(root).join(", ")} here, not ${name.value}`);
  }
  const output = new JsonPieces();
  output.raw('{"data":');
  await new Selection(operation, work, output).members(root, fields, 0, kind === "mutation");
  output.raw("}");
  return output;
}

class Selection {
  readonly #operation: GraphqlOperation;
  readonly #work: GraphqlWork;
  readonly #output: JsonPieces;
  /** What functions of an object have returned. */
  readonly #known = new WeakMap<object, Map<string, unknown>>();

  constructor(operation: GraphqlOperation, work: GraphqlWork, output: JsonPieces) {
    this.#operation = operation;
    this.#work = work;
    this.#output = output;
  }

  async members(parent: object, fields: ReadonlyMap<string, Merged>, depth: number, isMutation = false): Promise<void> {
    let separator = "{";
    for (const [key, merged] of fields) {
      this.#work.charge("field");
      const reserving = this.#work.respond(this.#output.raw(`${separator}${JSON.stringify(key)}:`));
      if (reserving !== undefined) await reserving;
      separator = ",";
      const [field] = merged;
      const value = isMutation ? await this.#mutate(parent, field) : await this.#valueOf(parent, field);
      await this.#write(value, this.#operation.selectionsOf(merged), depth + 1, field);
    }
    this.#output.raw(separator === "{" ? "{}" : "}");
  }

  async #write(value: unknown, selections: Selections, depth: number, field: FieldNode): Promise<void> {
    if (this.#work.isDue) await this.#work.pause();
    if (Array.isArray(value)) {
      this.#output.raw("[");
      for (const [at, item] of value.entries()) {
        if (at > 0) this.#output.raw(",");
        this.#work.charge("field");
        await this.#write(item, selections, depth, field);
      }
      this.#output.raw("]");
    } else if (typeof value === "object" && value !== null) {
      if (selections.length === 0) throw new GraphqlError(`${field.name.value} needs a selection of its fields`);
      const fields = await this.#operation.fields(selections, typeNameOf(value), depth, this.#work);
      await this.members(value, fields, depth);
    } else await this.#work.respond(this.#output.scalar(value));
  }

  async #mutate(parent: object, field: FieldNode): Promise<unknown> {
    this.#work.charge("mutation");
    return await this.#call(parent, field);
  }

  async #valueOf(parent: object, field: FieldNode): Promise<unknown> {
    const name = field.name.value;
    if (!Object.hasOwn(parent, name)) return undefined;
    const own = (parent as Fields)[name];
    if (typeof own !== "function") return own;
    const known = this.#known.get(parent) ?? new Map<string, unknown>();
    this.#known.set(parent, known);
    const identity = this.#operation.identityOf(field);
    if (!known.has(identity)) known.set(identity, await this.#call(parent, field));
    return known.get(identity);
  }

  async #call(parent: object, field: FieldNode): Promise<unknown> {
    const resolve = (parent as Record<string, (args: Arguments) => unknown>)[field.name.value];
    return await resolve?.(this.#operation.argumentsOf(field));
  }
}

function typeNameOf(value: object): string | undefined {
  const name: unknown = Object.hasOwn(value, "__typename") ? (value as Fields)["__typename"] : undefined;
  return typeof name === "string" ? name : undefined;
}
