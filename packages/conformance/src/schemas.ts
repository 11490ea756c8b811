import { Ajv2020 } from "ajv/dist/2020.js";
import type { ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import type { JsonSchema, Plan } from "./plan.js";

/** A date, or a date and time with or without an offset. */
const dateTimePattern = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?$/;

/** Checks values by the schemas of a plan; compiles each at its first use. */
export class Schemas {
  readonly #ajv: Ajv2020;
  readonly #components: Plan["schemas"];
  readonly #compiled = new Map<JsonSchema, ValidateFunction>();
  readonly #byText = new Map<string, ValidateFunction>();

  constructor({ schemas }: Plan) {
    this.#components = schemas;
    this.#ajv = new Ajv2020({ strict: false, formats: { "date-time": dateTimePattern } });
    this.#ajv.addSchema({ $id: "spec", components: { schemas } });
  }

  /** What is wrong with a value, with the JSON pointer to it; undefined if nothing is. */
  violation(schema: JsonSchema, value: unknown): string | undefined {
    const validate = this.#compile(schema);
    if (validate(value)) return undefined;
    const errors = validate.errors ?? [];
    // Of a choice between shapes the finding that is deepest in the value says most.
    const deepest = errors.reduce<ErrorObject | undefined>(
      (best, error) => (best === undefined || depth(error) > depth(best) ? error : best),
      undefined,
    );
    return deepest === undefined ? "does not fit the schema" : describe(deepest);
  }

  /** A schema with its `$ref` followed and the properties of its `allOf` merged. */
  resolved(schema: JsonSchema): JsonSchema {
    const { $ref, ...rest } = schema;
    if ($ref !== undefined) {
      const target = this.#components[$ref.slice("#/components/schemas/".length)];
      if (target === undefined) throw new TypeError(`the plan has no schema ${$ref}`);
      return { ...this.resolved(target), ...rest };
    }
    if (schema.allOf === undefined) return schema;
    const parts = [...schema.allOf.map((part) => this.resolved(part)), rest];
    return {
      ...rest,
      type: parts.find(({ type }) => type !== undefined)?.type ?? "object",
      properties: Object.assign({}, ...parts.map(({ properties }) => properties)) as Record<string, JsonSchema>,
      required: parts.flatMap(({ required = [] }) => required),
    };
  }

  #compile(schema: JsonSchema): ValidateFunction {
    const known = this.#compiled.get(schema);
    if (known !== undefined) return known;
    // Hundreds of operations refer to the same few schemas of errors.
    const text = JSON.stringify(schema);
    const validator = this.#byText.get(text) ?? this.#ajv.compile(absolute(schema) as object);
    this.#byText.set(text, validator);
    this.#compiled.set(schema, validator);
    return validator;
  }
}

/** The schema with its `$ref`s pointing into the document, so that it stands alone. */
function absolute(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(absolute);
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) =>
      key === "$ref" && typeof value === "string" ? [key, `spec${value}`] : [key, absolute(value)],
    ),
  );
}

function depth({ instancePath, keyword }: ErrorObject): number {
  const isChoice = keyword === "anyOf" || keyword === "oneOf";
  return instancePath.split("/").length - (isChoice ? 0.5 : 0);
}

function describe({ instancePath, message, params, keyword }: ErrorObject): string {
  const at = instancePath === "" ? "the value" : instancePath;
  const extra = keyword === "enum" ? `: ${JSON.stringify((params as { allowedValues?: unknown }).allowedValues)}` : "";
  const unknown = (params as { additionalProperty?: string }).additionalProperty;
  return `${at} ${message ?? "does not fit"}${extra}${unknown === undefined ? "" : `: ${unknown}`}`;
}
