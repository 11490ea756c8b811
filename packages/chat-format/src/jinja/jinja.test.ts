import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { renderTemplate } from "../template-render.js";
import type { ExactObject } from "./parse-json.js";
import { parseExactJson } from "./parse-json.js";

const fixture = await readFile(new URL("../../fixtures/snippets.json", import.meta.url), "utf8");
/** What the reference renders: `scripts/templates/render.py fixtures` writes it. */
const { templates } = JSON.parse(fixture) as { templates: { source: string; text?: string; error?: string }[] };
const variables = Object.fromEntries(exactly(fixture, "variables"));

function exactly(json: string, key: string): ExactObject {
  const value = (parseExactJson(json) as ExactObject).get(key);
  if (!(value instanceof Map)) throw new Error(`no object ${key}`);
  return value;
}

const now = new Date(2026, 6, 4, 13, 5, 9);

describe("a template renders as Jinja with the settings of transformers does", () => {
  test.each(templates.filter(({ text }) => text !== undefined))("$source", ({ source, text }) => {
    expect(renderTemplate(source, variables, { now })).toBe(text);
  });
});

describe("a template fails where Jinja fails", () => {
  test.each(templates.filter(({ text }) => text === undefined))("$source", ({ source }) => {
    expect(() => renderTemplate(source, variables, { now })).toThrow();
  });
});
