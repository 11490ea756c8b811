import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { useFields } from "./facets/use-facets.js";
import type { CallsSearch } from "./calls-search.js";
import { pathsIn } from "./paths-in.js";

const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };

interface Props {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  paths: readonly string[];
  onChange: (paths: string[]) => void;
  onClose: () => void;
}

/** Which leaves of calls are columns, in their order: any path, and those that the newest calls have to choose from. */
export function ColumnsDialog({ projectId, search, openedAt, paths, onChange, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [draft, setDraft] = useState(paths.join("\n"));
  const id = useId();
  const { data } = useFields({ projectId, search, openedAt });
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Columns", modal: true }, dialogCommands, { close: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(pathsIn(draft));
  };
  const chosen = pathsIn(draft);
  const toggle = (path: string) => {
    const others = chosen.filter((each) => each !== path);
    setDraft([...others, ...(chosen.includes(path) ? [] : [path])].join("\n"));
  };
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="columns-dialog" onSubmit={submit}>
        <h2 id={`${id}-title`}>Columns</h2>
        <label htmlFor={id}>
          Paths in <code>inputs</code>, <code>output</code>, <code>attributes</code> and <code>summary</code>, one a
          line, in this order
        </label>
        <textarea id={id} className="mono" rows={6} value={draft} onChange={({ target }) => setDraft(target.value)} />
        <p className="quiet">
          For example <code>inputs.question</code> or <code>output.choices.0.message.content</code>.
        </p>
        {data !== undefined && data.fields.length > 0 && (
          <div className="columns-fields" role="group" aria-label="Fields of the newest calls">
            {data.fields.map(({ path, present }) => (
              <button
                key={path}
                type="button"
                className="plain"
                aria-pressed={chosen.includes(path)}
                onClick={() => toggle(path)}
              >
                <span className="mono cut">
                  {chosen.includes(path) ? "✓ " : "+ "}
                  {visibleLine(path)}
                </span>
                <span className="quiet">{formatCount(present)}</span>
              </button>
            ))}
          </div>
        )}
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
