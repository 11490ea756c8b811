import { createContext, use, useMemo, useState } from "react";
import { CopyButton } from "../ui/copy-button.js";
import { counted, formatBytes, formatCount } from "../ui/format.js";
import { visibleText } from "../ui/visible-text.js";
import { findInJson, foundWithin, piecesOf } from "./find-in-json.js";
import { beginningAt, stringAt } from "./json-children.js";
import type { JsonChild, JsonChildren } from "./json-children.js";
import { openSource } from "./json-source.js";
import type { JsonSource } from "./json-source.js";
import { useChildren } from "./use-children.js";
import "./json-view.css";

/** Characters of a string that are shown before the reader asks for more. */
const shownCharacters = 2000;
/** A longer string is read as far as it is shown, and not tried as JSON: that would hold up the page. */
const shortCharacters = 100_000;
/** A value of at most so many characters is open from the beginning, down to the second level. */
const openCharacters = 20_000;

/** What is looked for in a value, and where it begins. */
interface Found {
  words: string;
  places: readonly number[];
}
const FoundContext = createContext<Found>({ words: "", places: [] });

/** A value as it was sent, to be opened level by level; what has the words is open. */
export function JsonView({ label, text, words = "" }: { label: string; text: string; words?: string | undefined }) {
  const found = useMemo(() => ({ words, places: findInJson(text, words) }), [text, words]);
  return (
    <FoundContext value={found}>
      <Root label={label} text={text} />
    </FoundContext>
  );
}

function Root({ label, text }: { label: string; text: string }) {
  const source = useMemo(() => openSource(text), [text]);
  const root = source.root();
  if (root.type === "object" || root.type === "array") {
    return (
      <div className="json" role="group" aria-label={label}>
        <Children source={source} at={root} depth={0} />
      </div>
    );
  }
  return (
    <div className="json" role="group" aria-label={label}>
      <Leaf source={source} at={root} />
    </div>
  );
}

interface NodeProps {
  source: JsonSource;
  at: JsonChild;
  depth: number;
}

function Children({ source, at, depth }: NodeProps) {
  const { parts, error, isLoading, next } = useChildren(source, at);
  if (error !== undefined) return <p className="is-error">✗ This value cannot be read as JSON.</p>;
  const children = parts.flatMap((part: JsonChildren) => part.children);
  if (children.length === 0)
    return <span className="quiet">{isLoading ? "Reading…" : at.type === "array" ? "[ ]" : "{ }"}</span>;
  return (
    <ul>
      {children.map((child) => (
        <Node key={child.from} source={source} at={child} depth={depth + 1} />
      ))}
      {next !== undefined && (
        <li>
          <button className="plain" onClick={next}>
            {isLoading ? "Reading…" : `${formatCount(children.length)} shown: show more`}
          </button>
        </li>
      )}
    </ul>
  );
}

function Node({ source, at, depth }: NodeProps) {
  const isParent = at.type === "object" || at.type === "array";
  const { words, places } = use(FoundContext);
  // What the reader opened or closed stays so, until other words are looked for.
  const [chosen, setChosen] = useState<{ words: string; isOpen: boolean }>();
  const isOpen =
    chosen?.words === words
      ? chosen.isOpen
      : isParent &&
        ((depth <= 2 && source.text.length <= openCharacters) || foundWithin(places, at.from, at.to).length > 0);
  const name = at.key ?? String(at.index);
  if (!isParent) {
    return (
      <li className="json-node">
        <span className={at.key === undefined ? "json-index" : "json-key given"}>
          <Marked text={visibleText(name)} />
        </span>
        <Leaf source={source} at={at} />
      </li>
    );
  }
  return (
    <li className="json-node">
      <button className="json-toggle" aria-expanded={isOpen} onClick={() => setChosen({ words, isOpen: !isOpen })}>
        <span aria-hidden>{isOpen ? "▾" : "▸"}</span>
        <span className={at.key === undefined ? "json-index" : "json-key given"}>
          <Marked text={visibleText(name)} />
        </span>
        <span className="quiet">
          {at.type === "array" ? "list" : "object"} {formatBytes(at.to - at.from)}
        </span>
      </button>
      <span className="json-copy">
        <CopyButton text={() => source.text.slice(at.from, at.to)} />
      </span>
      {isOpen && <Children source={source} at={at} depth={depth} />}
    </li>
  );
}

function Leaf({ source: { text }, at: { type, from, to } }: { source: JsonSource; at: JsonChild }) {
  const [steps, setSteps] = useState(1);
  const [isUnfolded, setUnfolded] = useState(false);
  const isText = type === "string";
  const isShort = to - from <= shortCharacters;
  const whole = useMemo(
    () => (isText && isShort ? stringAt(text, from, to) : undefined),
    [isText, isShort, text, from, to],
  );
  const end = shownCharacters * steps;
  const displayed = useMemo(
    () => (isText ? visibleText(beginningAt(text, from, to, end).text) : ""),
    [isText, text, from, to, end],
  );
  const isJson = useMemo(() => whole !== undefined && /^\s*[[{]/.test(whole) && isParsed(whole), [whole]);
  if (!isText)
    return (
      <code className={`json-value is-${type}`}>
        <Marked text={text.slice(from, to)} />
      </code>
    );
  // Of a long text the characters are those of its JSON: to count its own, all of it would have to be read.
  const length = whole?.length ?? to - from - 2;
  return (
    <span className="json-string">
      {isUnfolded && whole !== undefined ? (
        <JsonView label="JSON in a text" text={whole} />
      ) : (
        <span className="json-value is-string given">
          <Marked text={displayed} />
        </span>
      )}
      {length > end && !isUnfolded && <FoundBelow text={text} from={from + 1 + end} to={to} />}
      {length > end && !isUnfolded && (
        <button className="plain" onClick={() => setSteps(steps * 10)}>
          {formatCount(end)} of {whole === undefined ? "about " : ""}
          {formatCount(length)} characters: show more
        </button>
      )}
      {isJson && (
        <button className="plain" onClick={() => setUnfolded(!isUnfolded)}>
          {isUnfolded ? "As text" : "As JSON"}
        </button>
      )}
    </span>
  );
}

/** A text in which the words are marked that are looked for. */
function Marked({ text }: { text: string }) {
  const { words } = use(FoundContext);
  return piecesOf(text, words).map((piece) =>
    piece.isFound ? <mark key={piece.from}>{piece.text}</mark> : piece.text,
  );
}

const excerpts = 3;
const around = 60;

/** Where a long text has the words below what is shown of it. */
function FoundBelow({ text, from, to }: { text: string; from: number; to: number }) {
  const { words, places } = use(FoundContext);
  const below = foundWithin(places, from, to);
  if (below.length === 0) return undefined;
  return (
    <span className="json-found">
      {counted(below.length, "place")} further down:
      {below.slice(0, excerpts).map((at) => (
        <span key={at} className="given">
          …{" "}
          <Marked
            text={visibleText(text.slice(Math.max(from, at - around), Math.min(to - 1, at + words.length + around)))}
          />{" "}
          …
        </span>
      ))}
    </span>
  );
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
