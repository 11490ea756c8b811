import type { RawJson } from "@heddle/client";
import { visibleJson } from "@heddle/exact-json";

/** JSON in which free JSON of a response that was asked for with `raw: true` keeps every digit. */
export const exactJson = (value: unknown): string => visibleJson(exact(value));

/** One line of it. */
export const jsonLine = (value: unknown): string => `${exactJson(value)}\n`;

function exact(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (isRaw(value)) return value.text;
  if (Array.isArray(value)) return `[${value.map(exact).join(",")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${exact(member)}`).join(",")}}`;
}

/** Only instances of the class have a method; whatever JSON has, it has no functions. */
const isRaw = (value: object): value is RawJson => "toJSON" in value && typeof value.toJSON === "function";
