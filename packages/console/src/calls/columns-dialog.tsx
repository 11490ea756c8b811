import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { pathsIn } from "./paths-in.js";
import { useCommands } from "../commands/use-commands.js";

const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };

interface Props {
  paths: readonly string[];
  onChange: (paths: string[]) => void;
  onClose: () => void;
}

/** Which leaves of calls are columns. */
export function ColumnsDialog({ paths, onChange, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [draft, setDraft] = useState(paths.join("\n"));
  const id = useId();
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Columns", modal: true }, dialogCommands, { close: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(pathsIn(draft));
    onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="columns-dialog" onSubmit={submit}>
        <h2 id={`${id}-title`}>Columns</h2>
        <label htmlFor={id}>
          Paths in <code>inputs</code>, <code>output</code>, <code>attributes</code> and <code>summary</code>, one a
          line
        </label>
        <textarea id={id} className="mono" rows={8} value={draft} onChange={({ target }) => setDraft(target.value)} />
        <p className="quiet">
          For example <code>inputs.question</code> or <code>output.choices.0.message.content</code>.
        </p>
        <div>
          <button className="primary">Show</button>{" "}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
