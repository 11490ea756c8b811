/** A value that can be chosen by a key. */
export interface Choice {
  value: unknown;
  label: string;
}

/** How a value is entered; it follows from the schema of the specification. */
export type FieldInput =
  | { kind: "choices"; choices: readonly Choice[]; many: boolean }
  | { kind: "text"; longest?: number }
  | { kind: "number"; isInteger: boolean; least?: number; most?: number }
  | { kind: "json" };

/** What is asked of annotators: a version of an AnnotationSpec. */
export interface Field {
  ref: string;
  /** Of the object; feedback has the type `wandb.annotation.<name>`. */
  name: string;
  title: string;
  description: string;
  input: FieldInput;
}

/** Whole numbers between two limits are choices where they are so few. */
const mostSteps = 100;

type Schema = Record<string, unknown>;

const isSchema = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The field of a specification; undefined for objects that are none, such as scorers that a program runs. */
export function fieldOf(ref: string, value: unknown): Field | undefined {
  if (!isSchema(value) || value["_class_name"] !== "AnnotationSpec") return undefined;
  const name = nameOf(ref);
  const title = value["name"];
  const description = value["description"];
  return {
    ref,
    name,
    title: typeof title === "string" && title !== "" ? title : name,
    description: typeof description === "string" ? description : "",
    input: isSchema(value["field_schema"]) ? inputOf(value["field_schema"]) : { kind: "json" },
  };
}

/** The name in the ref of an object, as it was given. */
export function nameOf(ref: string): string {
  const [name = ref] = ref.slice(ref.lastIndexOf("/") + 1).split(":");
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** How a value of a JSON schema is entered. What is not a simple value is entered as JSON. */
export function inputOf(given: Schema): FieldInput {
  const schema = withoutNull(given);
  const one = choicesOf(schema);
  if (one !== undefined) return { kind: "choices", choices: one, many: false };
  const { type, items, minimum, maximum, maxLength } = schema;
  if (type === "array" && isSchema(items)) {
    const choices = choicesOf(withoutNull(items));
    return choices === undefined ? { kind: "json" } : { kind: "choices", choices, many: true };
  }
  if (type === "integer" || type === "number") {
    return {
      kind: "number",
      isInteger: type === "integer",
      ...(typeof minimum === "number" && { least: minimum }),
      ...(typeof maximum === "number" && { most: maximum }),
    };
  }
  if (type === "string") return { kind: "text", ...(typeof maxLength === "number" && { longest: maxLength }) };
  return { kind: "json" };
}

/** `Optional[…]` of Python is `anyOf` with null: nothing is entered for null. */
function withoutNull(schema: Schema): Schema {
  for (const word of ["anyOf", "oneOf"]) {
    const parts = schema[word];
    if (!Array.isArray(parts)) continue;
    const others = parts.filter((part) => !isSchema(part) || part["type"] !== "null");
    if (others.length === 1 && isSchema(others[0])) return { ...schema, ...others[0] };
  }
  const { type } = schema;
  if (!Array.isArray(type)) return schema;
  const types = type.filter((word) => word !== "null");
  return types.length === 1 ? { ...schema, type: types[0] } : schema;
}

function choicesOf(schema: Schema): Choice[] | undefined {
  const { type, minimum, maximum } = schema;
  if (Array.isArray(schema["enum"]))
    return schema["enum"].filter((value) => value !== null).map((value) => ({ value, label: labelOf(value) }));
  if (type === "boolean")
    return [
      { value: true, label: "yes" },
      { value: false, label: "no" },
    ];
  if (type === "integer" && typeof minimum === "number" && typeof maximum === "number" && maximum >= minimum) {
    const [first, steps] = [Math.ceil(minimum), Math.floor(maximum) - Math.ceil(minimum) + 1];
    if (steps > mostSteps) return undefined;
    return Array.from({ length: steps }, (_, step) => ({ value: first + step, label: String(first + step) }));
  }
  for (const word of ["oneOf", "anyOf"]) {
    const parts = schema[word];
    if (!Array.isArray(parts) || !parts.every((part): part is Schema => isSchema(part) && "const" in part)) continue;
    return parts.map(({ const: value, title }) => ({
      value,
      label: typeof title === "string" ? title : labelOf(value),
    }));
  }
  return undefined;
}

const labelOf = (value: unknown): string =>
  typeof value === "string" ? value : value === true ? "yes" : value === false ? "no" : JSON.stringify(value);
