import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { greatestWidth, leastWidth } from "../grid/column-width.js";
import { useFields } from "./facets/use-facets.js";
import { ownColumns, readWidths } from "./calls-search.js";
import type { CallsSearch } from "./calls-search.js";
import { pathsIn } from "./paths-in.js";

const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };

interface Props {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  paths: readonly string[];
  /** Names and paths of columns. */
  pinned: readonly string[];
  /** Of those that somebody has resized. */
  widths: ReadonlyMap<string, number>;
  onChange: (paths: string[], pinned: string[], widths: ReadonlyMap<string, number>) => void;
  onClose: () => void;
}

/** Which leaves of calls are columns, in their order: any path, and those that the newest calls have to choose from; which columns stay, and how wide they are. */
export function ColumnsDialog({ projectId, search, openedAt, paths, pinned, widths, onChange, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [draft, setDraft] = useState(paths.join("\n"));
  const [staying, setStaying] = useState<ReadonlySet<string>>(new Set(pinned));
  const [wide, setWide] = useState<ReadonlyMap<string, string>>(
    new Map([...widths].map(([name, width]) => [name, String(width)])),
  );
  const id = useId();
  const { data } = useFields({ projectId, search, openedAt });
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Columns", modal: true }, dialogCommands, { close: onClose });
  const chosen = pathsIn(draft);
  const names = [...new Set([...ownColumns, ...chosen])];
  const pin = (name: string, isOn: boolean) => {
    const others = [...staying].filter((each) => each !== name);
    setStaying(new Set(isOn ? [...others, name] : others));
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange(
      chosen,
      names.filter((name) => staying.has(name)),
      readWidths(names.map((name) => `${name}:${wide.get(name) ?? ""}`).join(",")),
    );
  };
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
        <fieldset className="columns-pinned">
          <legend>Stay at the left when the table is scrolled sideways; width in pixels, empty for its own</legend>
          {names.map((name) => (
            <div key={name}>
              <label>
                <input
                  type="checkbox"
                  checked={staying.has(name)}
                  onChange={({ target }) => pin(name, target.checked)}
                />{" "}
                <span className="given cut">{visibleLine(name)}</span>
              </label>
              <input
                type="number"
                aria-label={`Width of ${visibleLine(name)}`}
                min={leastWidth}
                max={greatestWidth}
                value={wide.get(name) ?? ""}
                onChange={({ target }) => setWide(new Map([...wide, [name, target.value]]))}
              />
            </div>
          ))}
        </fieldset>
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
