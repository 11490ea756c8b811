import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect } from "vitest";

const guides = new URL("../../../docs/guides/", import.meta.url);

/** Whether the pictures of the guides are taken anew: `pnpm pictures`. */
export const takesPictures = process.env["PICTURES"] === "write";

/** What a guide ends in: the words of a picture, and the picture that is made of a run. */
export interface EndPicture {
  guide: string;
  /** For those who do not see it. */
  label: string;
  svg: string;
}

/**
 * The guide shows this picture, as it is stored: a run has other numbers, but the same words. `pnpm pictures` stores that of
 * the present run.
 */
export function expectPicture({ guide, label, svg }: EndPicture): void {
  const file = new URL(`figures/${guide}.svg`, guides);
  if (takesPictures) {
    mkdirSync(new URL(".", file), { recursive: true });
    writeFileSync(file, svg);
  }
  expect(readFileSync(new URL(`${guide}.md`, guides), "utf8")).toContain(`![${label}](figures/${guide}.svg)`);
  expect(wordsOf(readFileSync(file, "utf8"))).toEqual(wordsOf(svg));
}

/** The texts of a picture, without what differs from run to run: numbers, bars, marks, and what a model says. */
function wordsOf(svg: string): Set<string> {
  const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = ""]) => text.replaceAll(/<[^>]+>/g, ""));
  return new Set(
    texts.map((text) =>
      text
        .replaceAll(/&quot;.*?&quot;/g, "…")
        .replaceAll(/[\d.]+|[█·]+|[✓✗]/gu, "#")
        .replaceAll(/\s+/g, " ")
        .trim(),
    ),
  );
}

/** The curve that a program wrote to a file, in the colours of the page. */
export function drawCurve(svg: string, label: string): string {
  return svg
    .replace(
      /^<svg [^>]*>/,
      `${opening(640, 300, label)} font-family="system-ui, sans-serif" font-size="12" fill="var(--ink)">`,
    )
    .replace(/<rect [^>]*\/>\n/, "")
    .replaceAll('"#888"', '"var(--line)"')
    .replaceAll('"#2563a8"', '"var(--thread)"');
}

/** A narrower one would be drawn larger than the text of the page. */
const leastWidth = 760;
const lineHeight = 20;
const characterWidth = 7.85;

/** What a program printed, as a terminal shows it. */
export function drawTerminal(printed: string, label: string): string {
  const lines = printed
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd());
  const width = Math.max(leastWidth, Math.ceil(Math.max(...lines.map((line) => line.length)) * characterWidth) + 32);
  const height = lines.length * lineHeight + 24;
  const texts = lines.map(
    (line, at) => `<text x="16" y="${28 + at * lineHeight}" xml:space="preserve">${inColour(escape(line))}</text>`,
  );
  return `${opening(width, height, label)} font-family="ui-monospace, monospace" font-size="13" fill="var(--ink)">
<rect width="${width}" height="${height}" rx="8" fill="var(--code)"/>
${texts.join("\n")}
</svg>
`;
}

const inColour = (line: string) => line.replaceAll(/█+/g, '<tspan fill="var(--thread)">$&</tspan>');

const opening = (width: number, height: number, label: string) =>
  `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(label)}"`;

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text: string) => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? "");
