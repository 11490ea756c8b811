import type { DiffLine } from "./line-diff.js";

/** A line with what differs in it from the line that it became, or was: from one character to another, none where all does. */
export interface MarkedLine extends DiffLine {
  from: number;
  to: number;
}

/** Lines that were replaced by as many others differ from these in a part, which is found. */
export function withMiddles(lines: readonly DiffLine[]): MarkedLine[] {
  const marked = lines.map((line): MarkedLine => ({ ...line, from: 0, to: 0 }));
  for (let begin = 0; begin < marked.length;) {
    let end = begin;
    while (end < marked.length && marked[end]?.kind !== "same") end++;
    const run = marked.slice(begin, end);
    const removed = run.filter(({ kind }) => kind === "removed");
    const added = run.filter(({ kind }) => kind === "added");
    if (removed.length === added.length) removed.forEach((line, index) => mark(line, added[index] ?? line));
    begin = end + 1;
  }
  return marked;
}

function mark(before: MarkedLine, after: MarkedLine): void {
  const most = Math.min(before.text.length, after.text.length);
  let from = 0;
  while (from < most && before.text[from] === after.text[from]) from++;
  let rest = 0;
  while (rest < most - from && before.text.at(-1 - rest) === after.text.at(-1 - rest)) rest++;
  // Halves of one character are not parted.
  if (isLow(before.text, from) || isLow(after.text, from)) from--;
  if (isLow(before.text, before.text.length - rest) || isLow(after.text, after.text.length - rest)) rest--;
  // Where nearly nothing is alike, what differs is the line.
  if (from + rest <= Math.max(before.text.length, after.text.length) / 5) return;
  for (const line of [before, after]) Object.assign(line, { from, to: line.text.length - rest });
}

const isLow = (text: string, at: number): boolean => /^[\uDC00-\uDFFF]/.test(text.slice(at, at + 1)) && at > 0;
