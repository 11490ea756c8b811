import { expect, test } from "vitest";
import { matchingLine } from "./search-line.js";

const page = `# Costs

What calls cost, by \`model\` and day.

## Set a price

A price is **per token**, and
begins at a [date](x.md).

| Field | Meaning |
| --- | --- |
| \`effective_date\` | from when it holds |

\`\`\`ts
await tracing.costCreate({ costs });
\`\`\`

## Other

price of the next section
`;
const marked = (heading: string, ...terms: string[]) => {
  const { text = "", marks = [] } = matchingLine(page, heading, terms) ?? {};
  return marks.reduceRight((all, [from, to]) => `${all.slice(0, from)}[${all.slice(from, to)}]${all.slice(to)}`, text);
};

test("the line of a section with the most words is shown without marks of Markdown, its words marked", () => {
  expect(marked("Set a price", "price", "date")).toBe("A [price] is per token, and begins at a [date].");
  expect(marked("Set a price", "price", "token", "nothing")).toBe("A [price] is per [token], and begins at a date.");
  expect(marked("", "model")).toBe("What calls cost, by [model] and day.");
});

test("rows of tables and lines of code are lines, and parts of names are words", () => {
  expect(marked("Set a price", "effective_date", "effective")).toBe("[effective_date] · from when it holds");
  expect(marked("Set a price", "create")).toBe("await tracing.cost[Create]({ costs });");
  expect(marked("Set a price", "ost")).toBe("A price is per token, and begins at a date.");
});

test("a long line is cut around its first mark", () => {
  const { text, marks } = matchingLine(`# A\n\n${"word ".repeat(80)}needle${" more".repeat(80)}`, "", ["needle"])!;
  expect(text.length).toBeLessThan(150);
  expect(marks.map(([from, to]) => text.slice(from, to))).toEqual(["needle"]);
  expect(text).toMatch(/^… word .* more/);
  expect(text.endsWith("…")).toBe(true);
});

test("a page that lacks the heading, or has nothing below it, has no line", () => {
  expect(matchingLine(page, "Gone", ["price"])).toBeUndefined();
  expect(matchingLine("# A\n\n## B\n", "B", ["b"])).toBeUndefined();
});
