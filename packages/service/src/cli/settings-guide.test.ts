import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { documentedSettings } from "../config/config.js";

const root = join(import.meta.dirname, "../../../..");
const [begin, end] = ["<!-- settings -->\n", "<!-- end of settings -->"];

/** Those that a first installation looks for. */
const first = new Set(
  ["HOST", "PORT", "DATA_DIR", "API_KEY", "DEFAULT_ENTITY", "CLICKHOUSE_URL", "DATABASE_URL", "BLOBS_URL"]
    .concat(["ENGINE_MEMORY", "MODELS_DIR", "TRAINER_URL", "INFERENCE_URL", "PROVIDERS"])
    .map((name) => `HEDDLE_${name}`),
);

/** Names of variables, sizes, and what is to be replaced, which Markdown would take for HTML. */
const code = /\b(?:HEDDLE|AWS|OTEL)_[A-Z_]*\*?|\b\d+[GM]i?B\b|<[^>]+>[\w/-]*|\w+:<\w+>|s3:\/\/\S+|https:\/\/\S+\w/g;
const markdown = (text: string) => text.replaceAll(code, (match) => `\`${match}\``);
/** A value, not words about one. */
const isValue = (text: string) => text !== "none" && /^<|^\S+$/.test(text);

test.each([
  ["the guide", "packages/docs/guides/settings.md", documentedSettings],
  ["the README", "README.md", documentedSettings.filter(({ name }) => first.has(name))],
])("%s lists settings with their defaults and meanings: run with -u to write it", async (_, file, listed) => {
  const path = join(root, file);
  const text = readFileSync(path, "utf8");
  const [from, to] = [text.indexOf(begin) + begin.length, text.indexOf(end)];
  expect(to).toBeGreaterThanOrEqual(from);
  const rows = listed.map(({ name, default: value, meaning }) => {
    const cell = isValue(value) ? `\`${value}\`` : value;
    return `| \`${name}\` | ${cell} | ${markdown(meaning)} |`;
  });
  const table = ["| Variable | Default | Meaning |", "| --- | --- | --- |", ...rows].join("\n");
  await expect(`${text.slice(0, from)}\n${table}\n\n${text.slice(to)}`).toMatchFileSnapshot(path);
});
