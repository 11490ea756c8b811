import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { ScalarTag } from "yaml";
import { Verbatim } from "./literals.js";
import type { Literal } from "./literals.js";

/** Values of examples by name, with the spelling of their numbers. */
export type ExactExamples = ReadonlyMap<string, Literal>;

/**
 * Reads the YAML files of a directory of examples. The bundled documents have `1.0` as `1`, which is another text of free
 * JSON.
 */
export function readExactExamples(directory: string): ExactExamples {
  const examples = readdirSync(directory)
    .filter((file) => file.endsWith(".yaml"))
    .flatMap((file) => Object.entries(parseExactExamples(readFileSync(join(directory, file), "utf8"))));
  return new Map(examples);
}

export function parseExactExamples(text: string): Record<string, Literal> {
  const examples = parse(text, {
    merge: true,
    customTags: (tags) => [exactNumber, ...tags.filter((tag) => typeof tag !== "string" && !isNumber(tag.tag))],
  }) as Record<string, { value: Literal }>;
  return Object.fromEntries(Object.entries(examples).map(([name, { value }]) => [name, value]));
}

/** Numbers as JSON writes them; other spellings of YAML, such as `0x1f`, are text here. */
const exactNumber: ScalarTag = {
  tag: "tag:yaml.org,2002:float",
  default: true,
  test: /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/,
  resolve: (text) => new Verbatim(text),
};

function isNumber(tag: string): boolean {
  return tag === "tag:yaml.org,2002:float" || tag === "tag:yaml.org,2002:int";
}
