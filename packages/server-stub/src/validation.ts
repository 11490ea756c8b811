import type { Detail } from "./problem.js";

/** One finding of a compiled validator. */
export interface Finding {
  /** JSON pointer into the value. */
  instancePath: string;
  keyword: string;
  params: Record<string, unknown>;
  message?: string;
}

/** A check compiled ahead from a schema. `errors` belongs to the latest call. */
export interface Validator {
  (value: unknown): boolean;
  errors?: Finding[] | null;
}

const MAX_DETAILS = 10;

/**
 * What a validator found, as entries of a 422 answer. `base` is where the value stands.
 * Of a choice between shapes only the findings of the branch that came furthest are told.
 */
export function detailsOf(
  findings: readonly Finding[] | null | undefined,
  base: readonly (string | number)[],
  value: unknown,
): Detail[] {
  const all = (findings ?? []).map((finding) => ({ finding, loc: locOf(finding, base, value) }));
  const plain = all.filter(({ finding }) => finding.keyword !== "anyOf" && finding.keyword !== "oneOf");
  const choice = all.length > plain.length;
  const depth = Math.max(...plain.map(({ loc }) => loc.length));
  const told = choice ? plain.filter(({ loc }) => loc.length === depth) : plain;
  const details = new Map(
    told.map(({ finding, loc }) => {
      const detail = { loc, ...describe(finding) };
      return [JSON.stringify(detail), detail] as const;
    }),
  );
  if (choice && details.size > 1) {
    const merged = mergeTypes(told) ?? mergeKeys(told);
    if (merged) return [merged];
  }
  if (details.size === 0)
    return [{ loc: [...base], msg: "value fits none of the allowed shapes", type: "value_error" }];
  return [...details.values()].slice(0, MAX_DETAILS);
}

interface Told {
  finding: Finding;
  loc: (string | number)[];
}

/** `anyOf` of plain types: one entry that names them all. */
function mergeTypes(told: Told[]): Detail | undefined {
  const loc = onePlace(told, "type", (full) => full);
  return loc && { loc, ...typeDetail(told.flatMap(({ finding }) => typesOf(finding))) };
}

/** `anyOf` of objects that are told apart by the key they must have. */
function mergeKeys(told: Told[]): Detail | undefined {
  const loc = onePlace(told, "required", (full) => full.slice(0, -1));
  const keys = new Set(told.map(({ finding }) => String(finding.params["missingProperty"])));
  return loc && { loc, msg: `one of these fields is required: ${[...keys].join(", ")}`, type: "value_error.missing" };
}

/** The place that all findings share, if they are all of one kind. */
function onePlace(
  told: Told[],
  keyword: string,
  place: (loc: Detail["loc"]) => Detail["loc"],
): Detail["loc"] | undefined {
  const places = new Map(told.map(({ loc }) => [JSON.stringify(place(loc)), place(loc)]));
  return places.size === 1 && told.every(({ finding }) => finding.keyword === keyword)
    ? [...places.values()][0]
    : undefined;
}

/** What is said about a value of the wrong type. */
export function typeDetail(types: string[]): { msg: string; type: string } {
  const named = [...new Set(types)];
  return { msg: `value is not a valid ${named.join(" or ")}`, type: `type_error.${named.join("_or_")}` };
}

function typesOf({ params }: Finding): string[] {
  return [params["type"]].flat().map(String);
}

function locOf({ instancePath, keyword, params }: Finding, base: readonly (string | number)[], value: unknown) {
  const loc = [...base];
  let current = value;
  for (const step of instancePath.split("/").slice(1)) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const index = Array.isArray(current) ? Number(key) : key;
    loc.push(index);
    current = (current as Record<string | number, unknown> | null | undefined)?.[index];
  }
  if (keyword === "required") loc.push(String(params["missingProperty"]));
  if (keyword === "additionalProperties") loc.push(String(params["additionalProperty"]));
  return loc;
}

function describe(finding: Finding): { msg: string; type: string } {
  const { keyword, params, message } = finding;
  const limit = String(params["limit"]);
  switch (keyword) {
    case "required":
      return { msg: "field required", type: "value_error.missing" };
    case "additionalProperties":
      return { msg: "extra fields not permitted", type: "value_error.extra" };
    case "type":
      return typeDetail(typesOf(finding));
    case "enum":
      return { msg: `value is not one of ${quoted(params["allowedValues"])}`, type: "type_error.enum" };
    case "const":
      return { msg: `value is not ${quoted([params["allowedValue"]])}`, type: "value_error.const" };
    case "format":
      return { msg: `invalid ${String(params["format"])} format`, type: `value_error.${String(params["format"])}` };
    case "pattern":
      return { msg: `string does not match the pattern ${String(params["pattern"])}`, type: "value_error.str.pattern" };
    case "minLength":
      return { msg: `ensure this value has at least ${limit} characters`, type: "value_error.str.min_length" };
    case "maxLength":
      return { msg: `ensure this value has at most ${limit} characters`, type: "value_error.str.max_length" };
    case "minItems":
      return { msg: `ensure this value has at least ${limit} items`, type: "value_error.list.min_items" };
    case "maxItems":
      return { msg: `ensure this value has at most ${limit} items`, type: "value_error.list.max_items" };
    case "uniqueItems":
      return { msg: "ensure this value has no repeated items", type: "value_error.list.unique_items" };
    case "minProperties":
      return { msg: `ensure this value has at least ${limit} keys`, type: "value_error.object.min_properties" };
    case "maxProperties":
      return { msg: `ensure this value has at most ${limit} keys`, type: "value_error.object.max_properties" };
    case "minimum":
      return { msg: `ensure this value is greater than or equal to ${limit}`, type: "value_error.number.not_ge" };
    case "maximum":
      return { msg: `ensure this value is less than or equal to ${limit}`, type: "value_error.number.not_le" };
    case "exclusiveMinimum":
      return { msg: `ensure this value is greater than ${limit}`, type: "value_error.number.not_gt" };
    case "exclusiveMaximum":
      return { msg: `ensure this value is less than ${limit}`, type: "value_error.number.not_lt" };
    case "multipleOf":
      return {
        msg: `ensure this value is a multiple of ${String(params["multipleOf"])}`,
        type: "value_error.number.not_multiple",
      };
    default:
      return { msg: message ?? "value does not fit the schema", type: "value_error" };
  }
}

function quoted(values: unknown): string {
  return (values as unknown[]).map((value) => JSON.stringify(value)).join(", ");
}
