import { useState } from "react";
import type { RefObject } from "react";
import { counted } from "../ui/format.js";

interface Props {
  field: RefObject<HTMLInputElement | null>;
  find: string | undefined;
  /** How many calls have the text; undefined while there is none. */
  found: number | undefined;
  onFind: (text: string | undefined) => void;
  /** The reader goes on in the tree. */
  onDone: () => void;
}

/** A text that the names of calls are to have. It counts once it was entered. */
export function FindInTrace({ field, find = "", found, onFind, onDone }: Props) {
  const [draft, setDraft] = useState(find);
  return (
    <p className="trace-find">
      <input
        ref={field}
        aria-label="Find calls of the trace by name"
        placeholder="find by name   /"
        value={draft}
        onChange={({ target }) => setDraft(target.value)}
        onBlur={() => draft !== find && onFind(draft || undefined)}
        onKeyDown={({ key, nativeEvent }) => {
          if (nativeEvent.isComposing) return;
          if (key === "Enter") {
            if (draft !== find) onFind(draft || undefined);
            onDone();
          } else if (key === "Escape") {
            setDraft(find);
            onDone();
          }
        }}
      />
      {found !== undefined && (
        <>
          <span role="status">{counted(found, "call")} found</span>
          <button className="plain" onClick={() => onFind(undefined)} aria-label="Show all calls of the trace">
            ×
          </button>
        </>
      )}
    </p>
  );
}
