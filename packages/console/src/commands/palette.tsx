import { useEffect, useId, useRef, useState } from "react";
import type { KeyboardEvent } from "react";
import { Keys } from "./keys.js";
import { useActiveCommands, useCommands } from "./use-commands.js";
import type { ActiveCommand } from "./command.js";
import "./palette.css";

const paletteCommands = { close: { title: "Close", keys: ["Escape", "Ctrl+k"] } };

/** The commands that can be run now, narrowed by typing. */
export function Palette({ onClose }: { onClose: () => void }) {
  const active = useActiveCommands();
  const [commands] = useState(active);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Palette", modal: true }, paletteCommands, { close: onClose });
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
  const current = Math.min(at, found.length - 1);
  const run = (command: ActiveCommand | undefined) => {
    if (command === undefined) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setAt(Math.max(0, Math.min(found.length - 1, current + step)));
    else if (event.key === "Enter") run(found[current]);
    else return;
    event.preventDefault();
  };
  return (
    <dialog ref={dialog} className="palette" aria-label="Commands" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Command"
        aria-expanded
        aria-controls={id}
        aria-activedescendant={current < 0 ? undefined : `${id}-${current}`}
        placeholder="Command"
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} role="listbox" aria-label="Commands">
        {found.map((command, index) => (
          <div
            key={`${command.scope} ${command.id}`}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === current}
            onClick={() => run(command)}
          >
            <span>
              {command.title} <span className="quiet">{command.scope}</span>
            </span>
            <span>
              <Keys keys={command.keys} />
            </span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="quiet">No command has these words.</p>}
    </dialog>
  );
}
