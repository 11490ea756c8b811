import { useMemo, useState } from "react";
import { counted, formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { jsonLines } from "./json-lines.js";
import { changedParts, lineDiff } from "./line-diff.js";
import type { DiffLine } from "./line-diff.js";
import { withMiddles } from "./middles.js";
import type { MarkedLine } from "./middles.js";
import "./changes.css";

const marks: Record<DiffLine["kind"], string> = { same: " ", removed: "−", added: "+" };
const spoken: Record<DiffLine["kind"], string> = { same: "", removed: "removed: ", added: "added: " };
/** Characters of a line that are shown, and those before what differs in it. */
const [lineCharacters, charactersBefore] = [2000, 200];
/** Lines that are shown before the reader asks for more. */
const linesAtOnce = 400;

interface Props {
  title: string;
  before: readonly string[];
  after: readonly string[];
  note?: string | undefined;
}

/** What changed from some lines to others, with some lines around each change. */
export function Changes({ title, before, after, note }: Props) {
  const lines = useMemo(() => lineDiff(before, after), [before, after]);
  const parts = useMemo(() => changedParts(lines), [lines]);
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  return (
    <section className="changes" aria-label={`Changes of ${title}`}>
      <header>
        <h2 className="given">{title}</h2>
        <span className="quiet">
          {parts.length === 0
            ? `no change in ${counted(lines.length, "line")}`
            : `+${formatCount(count("added"))} −${formatCount(count("removed"))} of ${counted(after.length || before.length, "line")}`}
          {note !== undefined && ` · ${note}`}
        </span>
      </header>
      {parts.map((part, index) => (
        // They never move.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index}>
          {part.skipped > 0 && <p className="diff-skipped quiet">{counted(part.skipped, "line")} alike</p>}
          <Part lines={part.lines} />
        </div>
      ))}
    </section>
  );
}

function Part({ lines }: { lines: readonly DiffLine[] }) {
  const [shown, setShown] = useState(linesAtOnce);
  const marked = useMemo(() => withMiddles(lines.slice(0, shown)), [lines, shown]);
  return (
    <>
      <ol className="diff">
        {marked.map((line, index) => (
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className={`is-${line.kind}`}>
            <span aria-hidden>{marks[line.kind]}</span>
            <span className="unseen">{spoken[line.kind]}</span>
            <code className="given">
              <LineText line={line} />
            </code>
          </li>
        ))}
      </ol>
      {lines.length > shown && (
        <button className="plain" onClick={() => setShown(shown + linesAtOnce)}>
          {formatCount(shown)} of {counted(lines.length, "line")}: show more
        </button>
      )}
    </>
  );
}

/** Of a long line what differs, and some of what is around it. */
function LineText({ line: { text, from, to } }: { line: MarkedLine }) {
  const start = text.length <= lineCharacters ? 0 : Math.max(0, from - charactersBefore);
  const end = Math.min(text.length, start + lineCharacters);
  const part = (a: number, b: number) => visibleLine(text.slice(Math.max(a, start), Math.max(start, Math.min(b, end))));
  return (
    <>
      {start > 0 && <span className="quiet">{formatCount(start)} characters … </span>}
      {part(0, from)}
      {from < to && <mark>{part(from, to)}</mark>}
      {part(to, text.length)}
      {end < text.length && <span className="quiet">… {formatCount(text.length)} characters</span>}
    </>
  );
}

interface JsonProps {
  title: string;
  /** Exact JSON. */
  before: string;
  after: string;
}

/** The same of two JSON values, a member or item a line. */
export function JsonChanges({ title, before, after }: JsonProps) {
  const [old, now] = useMemo(() => [jsonLines(before), jsonLines(after)] as const, [before, after]);
  return (
    <Changes
      title={title}
      before={old.lines}
      after={now.lines}
      note={old.isComplete && now.isComplete ? undefined : `Only the first ${formatCount(now.lines.length)} lines.`}
    />
  );
}
