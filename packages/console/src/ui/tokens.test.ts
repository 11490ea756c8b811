import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
const css = read("tokens.css");

type Scheme = "light" | "dark";

function tokensOf(text: string): Map<string, Record<Scheme, string>> {
  const found = text.matchAll(/--([\w-]+): light-dark\((#\w+), (#\w+)\)/g);
  return new Map(
    [...found].map(([, name = "", light = "", dark = ""]) => [name, { light: full(light), dark: full(dark) }]),
  );
}

const full = (hex: string) => (hex.length === 4 ? hex.replaceAll(/(?<=#.*)\w/g, "$&$&").replace(/^#?/, "#") : hex);

const tokens = tokensOf(css);
const token = (name: string, scheme: Scheme) => tokens.get(name)?.[scheme] ?? expect.unreachable(name);

/** WCAG 2.2, relative luminance. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.040_45 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const grounds = ["paper", "raised", "selected"];
const outlines = new Set(["line", "edge", ...grounds]);
const texts = [...tokens.keys()].filter((name) => !outlines.has(name));

test.each(["light", "dark"] as const)("every text can be read on every ground, %s", (scheme) => {
  expect(texts.length).toBeGreaterThan(10);
  const low = texts.flatMap((name) =>
    grounds
      .map((ground) => ({ name, ground, ratio: contrast(token(name, scheme), token(ground, scheme)) }))
      .filter(({ ratio }) => ratio < 5.3),
  );
  expect(low).toEqual([]);
});

test.each(["light", "dark"] as const)("outlines of controls can be seen, %s", (scheme) => {
  for (const ground of ["paper", "raised"])
    expect([ground, contrast(token("edge", scheme), token(ground, scheme)) >= 3.1]).toEqual([ground, true]);
});

test("paper, ink, lines and thread are those of the documentation", () => {
  const docs = tokensOf(read("../../../docs/template/style.css"));
  for (const name of ["paper", "raised", "ink", "quiet", "line", "edge", "thread"])
    expect([name, docs.get(name)]).toEqual([name, tokens.get(name)]);
});

test("no other style sheet or component names a colour", () => {
  const sheets = import.meta.glob<string>("../**/*.{css,tsx}", { query: "?raw", import: "default", eager: true });
  const named = Object.entries(sheets).filter(
    ([name, text]) => !name.endsWith("tokens.css") && /#[0-9a-f]{6}\b/i.test(text),
  );
  expect(named.map(([name]) => name)).toEqual([]);
});
