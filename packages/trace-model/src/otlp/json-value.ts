import { HeddleError } from "@heddle/errors";
import type { Decoding } from "./decoding.js";
import { fields, integer, list } from "./json-fields.js";
import { jsonNumber, maxValueNesting, textJson, tooDeep, valueJson } from "./value-json.js";
import type { AttributeValue } from "./value-json.js";

const nothing: AttributeValue = { json: "null" };

/** Reads an AnyValue; what of it cannot be read is null. */
export function anyValue(value: unknown, depth: number, decoding: Decoding): AttributeValue {
  try {
    const members = fields(value ?? {});
    for (const name of Object.keys(members)) {
      const content = members[name] ?? null;
      if (content !== null) return valueOf(camelCase(name), content, depth, decoding);
    }
  } catch (error) {
    decoding.valueFailed(error);
  }
  return nothing;
}

function valueOf(name: string, content: unknown, depth: number, decoding: Decoding): AttributeValue {
  if (depth > maxValueNesting) throw new HeddleError("invalid", tooDeep);
  switch (name) {
    case "stringValue":
      return scalarText(content);
    case "bytesValue":
      return base64(content);
    case "boolValue":
      return { json: boolean(content) };
    case "intValue":
      return { json: integer(content, name).toString() };
    case "doubleValue":
      return { json: jsonNumber(double(content)) };
    case "arrayValue": {
      const items = list(fields(content), "values").map((item) => anyValue(item, depth + 1, decoding));
      return { json: `[${items.map(valueJson).join(",")}]` };
    }
    case "kvlistValue": {
      const members = list(fields(content), "values").map((item) => {
        const member = fields(item);
        const key = member.key ?? "";
        if (typeof key !== "string") throw new HeddleError("invalid", "key is not a string");
        return `${textJson(key)}:${valueJson(anyValue(member.value, depth + 1, decoding))}`;
      });
      return { json: `{${members.join(",")}}` };
    }
    default:
      throw new HeddleError("invalid", `${name} is not a kind of value`);
  }
}

function scalarText(content: unknown): string {
  if (typeof content === "string") return content;
  if (typeof content === "number" || typeof content === "boolean") return String(content);
  throw new HeddleError("invalid", "stringValue is not a string");
}

function boolean(content: unknown): string {
  if (content === true || content === "true") return "true";
  if (content === false || content === "false") return "false";
  throw new HeddleError("invalid", "boolValue is neither true nor false");
}

const notFinite = new Set<unknown>(["NaN", "Infinity", "-Infinity"]);

function double(content: unknown): number {
  if (typeof content === "number") return content;
  const value = typeof content === "string" && content.trim() !== "" ? Number(content) : Number.NaN;
  if (Number.isFinite(value) || notFinite.has(content)) return value;
  throw new HeddleError("invalid", "doubleValue is not a number");
}

function base64(content: unknown): string {
  if (typeof content === "string" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(content)) return content;
  throw new HeddleError("invalid", "bytesValue is not a base64");
}

function camelCase(name: string): string {
  return name.includes("_") ? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()) : name;
}
