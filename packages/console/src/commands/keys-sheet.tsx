import { useEffect, useRef, useState } from "react";
import { Keys } from "./keys.js";
import { useActiveCommands, useCommands, useKeyboard } from "./use-commands.js";
import type { ActiveCommand } from "./command.js";
import { storeLetters } from "./letters.js";
import "./keys-sheet.css";

const sheetCommands = { close: { title: "Close", keys: ["Escape", "?"] } };

/** The keys that work on the page it is opened over. */
export function KeysSheet({ onClose }: { onClose: () => void }) {
  const active = useActiveCommands();
  // Those of the page: the sheet itself hides them.
  const [commands] = useState(active.filter(({ keys }) => keys.length > 0));
  const keyboard = useKeyboard();
  const [letters, setLetters] = useState(keyboard.letters);
  const dialog = useRef<HTMLDialogElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    button.current?.focus();
  }, []);
  useCommands({ scope: "Sheet", modal: true }, sheetCommands, { close: onClose });
  const change = (on: boolean) => {
    keyboard.setLetters(on);
    storeLetters(on);
    setLetters(on);
  };
  return (
    <dialog ref={dialog} className="keys-sheet" aria-labelledby="keys-sheet" onClose={onClose}>
      <h2 id="keys-sheet">Keys</h2>
      <div className="keys-sheet-scopes">
        {Object.entries(Object.groupBy(commands, ({ scope }) => scope)).map(([scope, members = []]) => (
          <section key={scope}>
            <h3 className="quiet">{scope}</h3>
            <dl>
              {members.map((command) => (
                <Row key={command.id} {...command} />
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label>
        <input type="checkbox" checked={letters} onChange={({ target }) => change(target.checked)} /> Single letters and
        signs are commands
      </label>
      <button ref={button} onClick={onClose}>
        Close
      </button>
    </dialog>
  );
}

function Row({ title, keys }: ActiveCommand) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <Keys keys={keys} />
      </dd>
    </div>
  );
}
