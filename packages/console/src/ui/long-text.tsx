import { useState } from "react";
import { formatCount } from "./format.js";
import { visibleText } from "./visible-text.js";

/** Characters that are shown at first. */
const shownCharacters = 10_000;

/** A text of any length: its beginning, and more of it on request. */
export function LongText({ text, className }: { text: string; className: string }) {
  const [end, setEnd] = useState(shownCharacters);
  return (
    <div>
      <p className={`${className} given`}>{visibleText(text.slice(0, end))}</p>
      {text.length > end && (
        <button className="plain" onClick={() => setEnd(end * 10)}>
          {formatCount(end)} of {formatCount(text.length)} characters: show more
        </button>
      )}
    </div>
  );
}
