import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { variables } from "../config/config.js";

const path = join(import.meta.dirname, "../../../docs/guides/settings.md");
const [begin, end] = ["<!-- settings -->\n", "<!-- end of settings -->"];

/** Names of variables, sizes, and what is to be replaced, which Markdown would take for HTML. */
const code = /\b(?:HEDDLE|AWS|OTEL)_[A-Z_]*\*?|\b\d+[GM]i?B\b|<[^>]+>[\w/-]*|\w+:<\w+>|s3:\/\/\S+|https:\/\/\S+\w/g;
const markdown = (text: string) => text.replaceAll(code, (match) => `\`${match}\``);
/** A value, not words about one. */
const isValue = (text: string) => text !== "none" && /^<|^\S+$/.test(text);

test("the guide lists every setting with its default and meaning: run with -u to write it", async () => {
  const guide = readFileSync(path, "utf8");
  const [from, to] = [guide.indexOf(begin) + begin.length, guide.indexOf(end)];
  expect(to).toBeGreaterThanOrEqual(from);
  const rows = Object.entries(variables).map(([name, { default: value, meaning }]) => {
    const shown = isValue(value) ? `\`${value}\`` : value;
    return `| \`${name}\` | ${shown} | ${markdown(meaning)} |`;
  });
  const table = ["| Variable | Default | Meaning |", "| --- | --- | --- |", ...rows].join("\n");
  await expect(`${guide.slice(0, from)}\n${table}\n\n${guide.slice(to)}`).toMatchFileSnapshot(path);
});
