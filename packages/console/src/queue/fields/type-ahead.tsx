import { useId, useState } from "react";
import { formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import type { Choice } from "./field.js";
import { matching } from "./matching.js";

/** Values that are shown at a time: others are found by typing. */
const mostShown = 12;

interface Props {
  label: string;
  choices: readonly Choice[];
  isChosen: (choice: Choice) => boolean;
  onChoose: (value: unknown) => void;
  onCurrent: () => void;
}

/** More values than there are digits: typing finds one, Enter chooses it. */
export function TypeAhead({ label, choices, isChosen, onChoose, onCurrent }: Props) {
  const id = useId();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const found = matching(choices, text);
  const listed = found.slice(0, mostShown);
  const current = listed[Math.min(at, listed.length - 1)];
  const chosen = choices.filter(isChosen);
  return (
    <>
      <p className={chosen.length === 0 ? "quiet" : "given"}>
        {chosen.length === 0
          ? `one of ${formatCount(choices.length)}`
          : chosen.map(({ label: of }) => visibleLine(of)).join(", ")}
      </p>
      <input
        data-edited
        role="combobox"
        aria-labelledby={label}
        aria-expanded={isOpen}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && current !== undefined ? `${id}-${listed.indexOf(current)}` : undefined}
        autoComplete="off"
        placeholder="Enter, then type"
        value={text}
        onFocus={() => {
          setOpen(true);
          onCurrent();
        }}
        onBlur={() => setOpen(false)}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          const { key, ctrlKey, nativeEvent, currentTarget } = event;
          if (nativeEvent.isComposing || ctrlKey) return;
          if (key === "ArrowDown") setAt(Math.min(listed.length - 1, at + 1));
          else if (key === "ArrowUp") setAt(Math.max(0, at - 1));
          else if (key === "Enter" || key === "Escape") {
            if (key === "Enter" && current !== undefined) onChoose(current.value);
            setText("");
            setAt(0);
            currentTarget.blur();
          } else return;
          event.preventDefault();
        }}
      />
      <div id={`${id}-list`} role="listbox" aria-labelledby={label} hidden={!isOpen} className="field-list">
        {listed.map((choice, index) => (
          <div
            key={choice.label}
            id={`${id}-${index}`}
            role="option"
            aria-selected={choice === current}
            className={choice === current ? "given is-current" : "given"}
            onMouseDown={(event) => {
              event.preventDefault();
              onChoose(choice.value);
            }}
          >
            {isChosen(choice) && "✓ "}
            {visibleLine(choice.label)}
          </div>
        ))}
        {listed.length === 0 && (
          <div role="option" aria-selected={false} aria-disabled>
            no such value
          </div>
        )}
      </div>
      {isOpen && found.length > mostShown && (
        <p className="quiet">{formatCount(found.length - mostShown)} more: type to find them</p>
      )}
    </>
  );
}
