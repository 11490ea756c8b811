import type { ReactNode, RefObject } from "react";

interface Props {
  field: RefObject<HTMLInputElement | null>;
  label: string;
  placeholder: string;
  /** What is looked for; empty where nothing is. */
  text: string;
  /** What was found of it. */
  found: ReactNode;
  /** What the button does that looks for nothing. */
  clear: string;
  onFind: (text: string | undefined) => void;
  /** The reader goes on with what was found. */
  onDone?: () => void;
}

/** A text to look for. It counts once it was entered. */
export function FindField({ field, label, placeholder, text, found, clear, onFind, onDone }: Props) {
  return (
    <>
      <input
        ref={field}
        aria-label={label}
        placeholder={placeholder}
        defaultValue={text}
        onBlur={({ target: { value } }) => value !== text && onFind(value || undefined)}
        onKeyDown={({ key, nativeEvent, currentTarget }) => {
          if (nativeEvent.isComposing || (key !== "Enter" && key !== "Escape")) return;
          // As it was: leaving the field would enter it.
          if (key === "Escape") currentTarget.value = text;
          currentTarget.blur();
          onDone?.();
        }}
      />
      {text !== "" && (
        <>
          <span role="status">{found}</span>
          <button className="plain" onClick={() => onFind(undefined)} aria-label={clear}>
            ×
          </button>
        </>
      )}
    </>
  );
}
