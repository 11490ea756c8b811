import type { Detail } from "../problem.js";

/** One finding of a compiled validator. */
export interface Finding {
  /** JSON pointer into the value. */
  instancePath: string;
  keyword: string;
  /** The component or the alternative of the schema that it is of. */
  branch: string;
  params: Record<string, unknown>;
}

/** A check compiled ahead from a schema. `errors` belongs to the latest call. */
export interface Validator {
  (value: unknown): boolean;
  errors?: Finding[] | null;
}

const maxDetails = 10;

/**
 * What a validator found, as entries of a 422 response. `base` is the location of the value.
 * Of a choice between shapes only the findings at the deepest location are reported, the first of each shape.
 */
export function detailsOf(
  findings: readonly Finding[] | null | undefined,
  base: readonly (string | number)[],
  value: unknown,
): Detail[] {
  const reported: LocatedFinding[] = [];
  for (const finding of findings ?? []) {
    const located = { finding, loc: locOf(finding, base, value), ...describe(finding) };
    if (finding.keyword === "anyOf" || finding.keyword === "oneOf") {
      reported.push(...chosen(inside(reported, finding.instancePath), located));
    } else reported.push(located);
  }
  const details = reported.map(({ loc, msg, type }): Detail => ({ loc, msg, type }));
  return [...new Map(details.map((detail) => [JSON.stringify(detail), detail])).values()].slice(0, maxDetails);
}

interface LocatedFinding extends Detail {
  finding: Finding;
}

/** Takes the findings about alternatives for the value at `path` from the end of the list. */
function inside(reported: LocatedFinding[], path: string): LocatedFinding[] {
  const isOutside = ({ finding }: LocatedFinding) => !`${finding.instancePath}/`.startsWith(`${path}/`);
  return reported.splice(reported.findLastIndex(isOutside) + 1);
}

/** What is reported of a choice between shapes; `choice` is the finding that none fits. */
function chosen(alternatives: readonly LocatedFinding[], choice: LocatedFinding): LocatedFinding[] {
  const depth = Math.max(...alternatives.map(({ loc }) => loc.length));
  const first = new Map<string, LocatedFinding>();
  for (const located of alternatives) {
    const { branch, instancePath } = located.finding;
    const shape = branch + instancePath;
    if (located.loc.length === depth && !first.has(shape)) first.set(shape, located);
  }
  const list = [...first.values()];
  const merged = mergeOf(list);
  return merged ? [{ ...choice, ...merged }] : list.length > 0 ? list : [choice];
}

/** One entry for scalar types of one value, and for objects distinguished by the key that they must have. */
function mergeOf(list: readonly LocatedFinding[]): Detail | undefined {
  const [first, second] = list;
  if (!first || !second) return undefined;
  const { finding, loc } = first;
  const isAlike = (other: LocatedFinding) =>
    other.finding.keyword === finding.keyword && other.finding.instancePath === finding.instancePath;
  if (!list.every(isAlike)) return undefined;
  if (finding.keyword === "type") return { loc, ...typeDetail(list.flatMap((each) => typesOf(each.finding))) };
  if (finding.keyword !== "required") return undefined;
  const keys = new Set(list.map((each) => String(each.finding.params["missingProperty"])));
  return { loc: loc.slice(0, -1), msg: `One of these fields is required: ${[...keys].join(", ")}`, type: "missing" };
}

/** Message and type for a value of the wrong JSON type. */
export function typeDetail(types: Iterable<string>): { msg: string; type: string } {
  const named = [...new Set(types)];
  const type = `${named.map((name) => short[name] ?? name).join("_or_")}_type`;
  return { msg: `Not a valid ${named.join(" or ")}`, type };
}

const short: Record<string, string> = {
  integer: "int",
  number: "float",
  boolean: "bool",
  object: "dict",
  array: "list",
};

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

/** Types are the names that clients know from other validators of this wire; see the examples of the spec. */
function describe(finding: Finding): { msg: string; type: string } {
  const { keyword, params } = finding;
  switch (keyword) {
    case "type":
      return typeDetail(typesOf(finding));
    case "enum":
      return { msg: `Must be one of ${quoted(params["allowedValues"])}`, type: "enum" };
    case "const":
      return { msg: `Must be ${quoted([params["allowedValue"]])}`, type: "literal_error" };
    case "anyOf":
    case "oneOf":
      return { msg: "Fits none of the allowed shapes", type: "no_match" };
    case "pattern":
      // The generator knows what the schema says of its pattern.
      return { msg: params["msg"] as string, type: "string_pattern_mismatch" };
    case "multipleOf":
      return { msg: `Must be a multiple of ${String(params["multipleOf"])}`, type: "multiple_of" };
    default: {
      if (timeLimits.has(params["limit"])) return { msg: outOfTime, type: "value_error" };
      const [msg, type] = messages[keyword] ?? ["Does not fit the schema", "value_error"];
      return { msg: msg.replace("%", String(params["limit"])), type };
    }
  }
}

/** Of schemas with `x-heddle-time`. */
const outOfTime = "Must be between the years 1900 and 2299, in seconds or milliseconds since 1970";
const timeLimits = new Set<unknown>([-2208988800, 10413792000000]);

const messages: Record<string, [msg: string, type: string]> = {
  required: ["Field required", "missing"],
  additionalProperties: ["Unknown key", "extra_forbidden"],
  format: ["Not a point in time: ISO 8601 text, or seconds or milliseconds since 1970", "datetime_parsing"],
  minLength: ["Must have at least % characters", "string_too_short"],
  maxLength: ["Must have at most % characters", "string_too_long"],
  minItems: ["Must have at least % items", "too_short"],
  maxItems: ["Must have at most % items", "too_long"],
  uniqueItems: ["Must not repeat an item", "not_unique"],
  minProperties: ["Must have at least % keys", "too_short"],
  maxProperties: ["Must have at most % keys", "too_long"],
  minimum: ["Must be greater than or equal to %", "greater_than_equal"],
  maximum: ["Must be less than or equal to %", "less_than_equal"],
  exclusiveMinimum: ["Must be greater than %", "greater_than"],
  exclusiveMaximum: ["Must be less than %", "less_than"],
};

function quoted(values: unknown): string {
  return (values as unknown[]).map((value) => JSON.stringify(value)).join(", ");
}
