import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ParameterSchema, ScorerClass } from "./scorer-class.js";
import { scorerClasses } from "./scorer-classes.js";

const path = join(import.meta.dirname, "../../../docs/guides/scorers.md");
const [begin, end] = ["<!-- classes -->\n", "<!-- end of classes -->"];

function described({ name, description, reads, parameters, result }: ScorerClass): string {
  const rows = Object.entries(parameters).map(
    ([key, schema]) => `| \`${key}\` | ${typeOf(schema)} | ${defaultOf(schema)} | ${schema.description} |`,
  );
  const results = Object.entries(result).map(([key, text]) => `- ${/^\w+$/.test(key) ? `\`${key}\`` : key}: ${text}`);
  return [
    `### ${name}`,
    `${description} Reads ${reads.map((one) => (/^\w+$/.test(one) ? `\`${one}\`` : one)).join(", ")}.`,
    ...(rows.length === 0
      ? ["It has no parameters."]
      : [["| Parameter | Type | Default | Meaning |", "| --- | --- | --- | --- |", ...rows].join("\n")]),
    ["Result:", "", ...results].join("\n"),
  ].join("\n\n");
}

function typeOf({ type, enum: values, items }: ParameterSchema): string {
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(", ");
  if (items !== undefined) return "list of texts";
  return (typeof type === "string" ? [type] : type).join(" or ").replace("string", "text");
}

const defaultOf = ({ default: value, isRequired }: ParameterSchema) =>
  isRequired === true
    ? "required"
    : value === undefined
      ? "none"
      : `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;

test("the guide describes every class as it is: run with -u to write it", async () => {
  const guide = readFileSync(path, "utf8");
  const [from, to] = [guide.indexOf(begin) + begin.length, guide.indexOf(end)];
  expect(to).toBeGreaterThan(from);
  const written = `\n${scorerClasses.map(described).join("\n\n")}\n\n`;
  await expect(guide.slice(0, from) + written + guide.slice(to)).toMatchFileSnapshot(path);
});
