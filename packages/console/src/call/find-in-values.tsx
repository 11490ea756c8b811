import { useState } from "react";
import type { RefObject } from "react";
import { counted } from "../ui/format.js";
import { mostFound } from "../json/find-in-json.js";

interface Props {
  field: RefObject<HTMLInputElement | null>;
  words: string;
  found: number;
  onWords: (words: string | undefined) => void;
}

/** Words to be marked in the values of a call, those that are closed included. They count once they were entered. */
export function FindInValues({ field, words, found, onWords }: Props) {
  const [draft, setDraft] = useState(words);
  return (
    <span className="span-find">
      <input
        ref={field}
        aria-label="Find words in the values of the call"
        placeholder="find in values   F"
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={() => draft !== words && onWords(draft || undefined)}
        onKeyDown={({ key, nativeEvent }) => {
          if (nativeEvent.isComposing) return;
          if (key === "Enter") field.current?.blur();
          else if (key === "Escape") {
            setDraft(words);
            field.current?.blur();
          }
        }}
      />
      {words !== "" && (
        <>
          <span role="status">
            {found >= mostFound && "at least "}
            {counted(found, "place")}
          </span>
          <button className="plain" onClick={() => onWords(undefined)} aria-label="Find nothing in the values">
            ×
          </button>
        </>
      )}
    </span>
  );
}
