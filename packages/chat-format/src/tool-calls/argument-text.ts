/** Types of the values of a parameter by its name, from the JSON schema of a tool. */
type ParameterTypes = ReadonlyMap<string, ReadonlySet<string>>;

/** Tools by name. */
export type ToolParameters = ReadonlyMap<string, ParameterTypes>;

/** Reads the types of parameters from tools as submitted. What is malformed is left out. */
export function toolParameters(tools: unknown): ToolParameters {
  const listed = (Array.isArray(tools) ? tools : []).map((tool) => member(tool, "function") ?? tool);
  return new Map(
    listed.map((tool) => {
      const properties = member(member(tool, "parameters"), "properties");
      const types = Object.entries(typeof properties === "object" && properties !== null ? properties : {}).map(
        ([name, schema]) => [name, typesOf(schema)] as const,
      );
      return [String(member(tool, "name")), new Map(types)];
    }),
  );
}

function member(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function typesOf(schema: unknown): ReadonlySet<string> {
  const type = member(schema, "type");
  const names: unknown[] = Array.isArray(type) ? type : [type];
  const choices = ["anyOf", "oneOf"].flatMap((key) => {
    const list = member(schema, key);
    return Array.isArray(list) ? list.flatMap((choice) => [...typesOf(choice)]) : [];
  });
  return new Set([...names, ...choices].filter((name) => typeof name === "string"));
}

const pythonWords = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);

/**
 * Writes an argument that a model wrote without quotes as JSON. It is text if the parameter may be text and the value is
 * of no other type of it; without a declared type it is text unless it is JSON.
 */
export function argumentJson(text: string, types: ReadonlySet<string> | undefined): string {
  const json = pythonWords.get(text.trim()) ?? text.trim();
  const type = jsonType(json);
  const declared = types !== undefined && types.size > 0;
  const allowed = declared && type !== undefined && (types.has(type) || (type === "integer" && types.has("number")));
  if (type === undefined || (declared && types.has("string") && !allowed)) return JSON.stringify(text);
  return declared || type !== "string" ? json : JSON.stringify(text);
}

function jsonType(text: string): string | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (value === null) return "null";
    if (Array.isArray(value)) return "array";
    return typeof value === "number" ? (/[.eE]/.test(text) ? "number" : "integer") : typeof value;
  } catch {
    return undefined;
  }
}

/** Writes a JSON object from members whose values are JSON. */
export function objectText(members: readonly (readonly [name: string, json: string])[]): string {
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}: ${json}`).join(", ")}}`;
}
