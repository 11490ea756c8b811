import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { chatParameters } from "./chat-parameters.js";
import { mistakeIn, strangersIn, usualParameters } from "./parameters.js";

interface Property {
  type?: string;
  enum?: string[];
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
  deprecated?: boolean;
  description?: string;
}

const specification = fileURLToPath(new URL("../../../../spec/dist/training.json", import.meta.url));
/** Set elsewhere, or not at all. */
const elsewhere = new Set(["model", "messages", "tools", "stream", "stream_options"]);
/** What the specification says of those that nobody wants a field for. */
const withoutEffect = /ignored|without an effect|Refused|any return 400|Another name|With `stream`, 400/;

test("the fields are the parameters of the specification: run with -u to write them", async () => {
  const { components } = JSON.parse(readFileSync(specification, "utf8")) as {
    components: { schemas: Record<string, { properties: Record<string, Property> }> };
  };
  const properties = Object.entries(components.schemas["ChatCompletionReq"]?.properties ?? {});
  const lines = properties
    .filter(([name]) => !elsewhere.has(name))
    .map(([name, { type, enum: values, minimum, exclusiveMinimum, maximum, deprecated, description = "" }]) => {
      const hasField = deprecated !== true && !withoutEffect.test(description);
      const safe = (bound: number | undefined) =>
        bound !== undefined && Number.isSafeInteger(Math.trunc(bound)) ? bound : undefined;
      const facts = {
        name,
        type: !hasField
          ? "json"
          : type === "string" && values !== undefined
            ? "choice"
            : ["number", "integer", "boolean"].includes(type ?? "")
              ? type
              : "json",
        least: safe(minimum),
        above: safe(exclusiveMinimum),
        most: safe(maximum),
        values,
      };
      const members = Object.entries(facts)
        .filter(([member, value]) => value !== undefined && !(member === "values" && facts.type !== "choice"))
        .map(([member, value]) => `${member}: ${JSON.stringify(value).replaceAll(",", ", ")}`);
      return `  { ${members.join(", ")} },`;
    });
  expect(lines.length).toBeGreaterThan(40);
  const text = [
    "// Written by parameters.test.ts from the specification of chat completions.",
    "export const chatParameters = [",
    ...lines,
    "] as const;",
    "",
  ].join("\n");
  await expect(text).toMatchFileSnapshot(fileURLToPath(new URL("chat-parameters.ts", import.meta.url)));
});

test("those that are shown first are among them", () => {
  const names = chatParameters.map(({ name }): string => name);
  for (const name of usualParameters) expect(names).toContain(name);
});

test("a value beyond the limits of the specification is a mistake, the limits themselves are none", () => {
  const of = (name: string, text: string) => {
    const parameter = chatParameters.find((each) => each.name === name);
    return parameter && mistakeIn(parameter, text);
  };
  expect(of("temperature", "-0.1")).toBe("at least 0");
  expect(of("temperature", "0")).toBeUndefined();
  expect(of("top_p", "0")).toBe("above 0");
  expect(of("top_p", "1")).toBeUndefined();
  expect(of("n", "129")).toBe("at most 128");
  expect(of("n", "1.5")).toBe("a whole number");
  expect(of("seed", "107505301260286111")).toBeUndefined();
  expect(of("seed", "NaN")).toBe("a number");
  expect(of("min_p", "")).toBeUndefined();
});

test("a name that no parameter has is said, since the service would ignore it", () => {
  expect(
    strangersIn(
      new Map([
        ["messages", "[]"],
        ["tools", "[]"],
        ["temprature", "1"],
        ["seed", "1"],
      ]),
    ),
  ).toEqual(["temprature"]);
});
