/** A line of a page, and what of it is marked: pairs of the first character and the one after the last. */
export interface MatchingLine {
  text: string;
  marks: readonly (readonly [start: number, end: number])[];
}

/** The most characters of a line. */
const mostCharacters = 140;
/** Characters before the first mark of a line that is cut, and how many are not cut off: lists are narrow on phones. */
const before = 24;
const uncut = 60;

/**
 * The line of a section that has the most of the terms, the first one of equals; the section's first sentence where none has
 * any. `markdown` is the page, `heading` the one of the section, empty for what is above all others.
 */
export function matchingLine(markdown: string, heading: string, terms: readonly string[]): MatchingLine | undefined {
  const lines = linesBelow(markdown, heading);
  let best: MatchingLine | undefined;
  let most = 0;
  for (const text of lines) {
    const found = terms.filter((term) => indexOfWord(text, term, 0) >= 0).length;
    if (found <= most) continue;
    most = found;
    best = cut(text, marksOf(text, terms));
  }
  return best ?? (lines[0] === undefined ? undefined : cut(lines[0], []));
}

/** Text below a heading and above the next one, a paragraph as one line, without marks of Markdown. */
function linesBelow(markdown: string, heading: string): string[] {
  const found: string[] = [];
  let isInside = false;
  let isCode = false;
  let paragraph = "";
  const end = () => {
    if (paragraph !== "") found.push(paragraph);
    paragraph = "";
  };
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) {
      isCode = !isCode;
      end();
      continue;
    }
    const title = isCode ? undefined : /^#{1,3} (.*)$/.exec(line);
    if (title) {
      if (isInside) break;
      isInside = heading === "" ? line.startsWith("# ") : plain(title[1] ?? "") === heading;
      continue;
    }
    if (!isInside) continue;
    const text = isCode ? line.trim() : plain(line);
    // Rows of tables, items of lists and lines of code are lines of their own.
    const isAlone = isCode || /^\s*(?:[-*|]|\d+\. )/.test(line);
    if (text === "" || isAlone) end();
    if (text !== "") paragraph = paragraph === "" ? text : `${paragraph} ${text}`;
    if (isAlone) end();
  }
  end();
  return found;
}

/** A line of Markdown as text. */
const plain = (line: string): string =>
  /^[|\s:-]*$/.test(line)
    ? ""
    : line
        .replace(/!?\[([^\]]*)\]\([^()]*\)/g, "$1")
        .replace(/<!--[^>]*-->/g, "")
        .replace(/^\s*(?:[-*] |\d+\. |> )/, "")
        .replace(/\*+|`/g, "")
        .split(/\s*(?<!\\)\|\s*/)
        .filter((cell) => cell !== "")
        .join(" · ")
        .trim();

function marksOf(text: string, terms: readonly string[]): [number, number][] {
  const marks: [number, number][] = [];
  for (const term of terms) {
    for (let at = indexOfWord(text, term, 0); at >= 0; at = indexOfWord(text, term, at + term.length)) {
      marks.push([at, at + term.length]);
    }
  }
  // Of those that overlap, the longer one.
  const sorted = marks.toSorted(([a, aEnd], [b, bEnd]) => a - b || bEnd - aEnd);
  return sorted.filter(([start], index) => sorted.slice(0, index).every(([, end]) => end <= start));
}

/** Where a word begins with the term, or a part of a name does; -1 where none does. */
function indexOfWord(text: string, term: string, from: number): number {
  const lower = text.toLowerCase();
  // Lower case may have another length.
  if (term === "" || lower.length !== text.length) return -1;
  for (let at = lower.indexOf(term, from); at >= 0; at = lower.indexOf(term, at + 1)) {
    const [previous = " ", first = ""] = [text[at - 1], text[at]];
    const beginsPart = /[\p{Ll}\p{N}]/u.test(previous) && /\p{Lu}/u.test(first);
    if (!/[\p{L}\p{N}]/u.test(previous) || beginsPart) return at;
  }
  return -1;
}

/** As much of a line as is shown, around its first mark. */
function cut(text: string, marks: readonly (readonly [number, number])[]): MatchingLine {
  const [first = 0] = marks[0] ?? [];
  const space = first > uncut ? text.indexOf(" ", first - before) + 1 : 0;
  const start = space > first ? first : space;
  const excerpt = text.slice(start, start + mostCharacters);
  const lead = start > 0 ? "… " : "";
  const tail = start + mostCharacters < text.length ? "…" : "";
  const moved = marks
    .filter(([from, to]) => from >= start && to <= start + excerpt.length)
    .map(([from, to]) => [from - start + lead.length, to - start + lead.length] as const);
  return { text: `${lead}${excerpt}${tail}`, marks: moved };
}
