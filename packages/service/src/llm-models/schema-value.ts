import { HeddleError } from "@heddle/errors";
import { schemaFault } from "./json-schema.js";
import type { Members } from "./members.js";

/** The parts of a JSON schema of this package's own. */
export interface JsonSchema {
  type?: string | readonly string[];
  const?: unknown;
  enum?: readonly string[];
  anyOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  items?: JsonSchema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
}

/** The values that fit a schema. */
export type SchemaValue<Schema> = Schema extends { const: infer Value }
  ? Value
  : Schema extends { enum: readonly (infer Value)[] }
    ? Value
    : Schema extends { anyOf: readonly (infer Choice)[] }
      ? SchemaValue<Choice>
      : Schema extends { type: readonly (infer Type)[] }
        ? ValueOfType<Type, Schema>
        : Schema extends { type: infer Type }
          ? ValueOfType<Type, Schema>
          : unknown;

type ValueOfType<Type, Schema> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "array"
        ? readonly (Schema extends { items: infer Item } ? SchemaValue<Item> : unknown)[]
        : Type extends "object"
          ? ObjectValue<Schema>
          : never;

type ObjectValue<Schema> = Members &
  (Schema extends { properties: infer Properties }
    ? {
        readonly [Name in keyof Properties]:
          | SchemaValue<Properties[Name]>
          | (Schema extends { required: readonly (infer Required)[] }
              ? Name extends Required
                ? never
                : undefined
              : undefined);
      }
    : unknown);

/** Returns a value with the type that its schema describes. Throws `invalid` for one that does not fit, with the member. */
export function fitting<const Schema extends JsonSchema>(schema: Schema, value: unknown): SchemaValue<Schema> {
  const fault = schemaFault(JSON.stringify(schema), JSON.stringify(value));
  if (fault !== undefined) throw new HeddleError("invalid", fault);
  return value as SchemaValue<Schema>;
}
