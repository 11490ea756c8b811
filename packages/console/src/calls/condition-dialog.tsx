import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useFields } from "./facets/use-facets.js";
import type { CallsSearch } from "./calls-search.js";
import { operators, withCondition } from "./where.js";
import type { Operator } from "./where.js";

const conditionCommands = { close: { title: "Close", keys: ["Escape"] } };

interface Props {
  projectId: string;
  search: CallsSearch;
  openedAt: number;
  onChange: (change: Partial<CallsSearch>) => void;
  onClose: () => void;
}

/** Asks for a condition on any field; the fields and values are those of the newest calls of the table. */
export function ConditionDialog({ projectId, search, openedAt, onChange, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [path, setPath] = useState("");
  const [operator, setOperator] = useState<Operator>("=");
  const [value, setValue] = useState("");
  const { data } = useFields({ projectId, search, openedAt });
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Condition", modal: true }, conditionCommands, { close: onClose });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onChange({ where: withCondition(search.where, { path: path.trim(), operator, value }) });
  };
  const values = data?.fields.find((field) => field.path === path)?.top ?? [];
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="condition-dialog" onSubmit={submit}>
        <h2 id={`${id}-title`}>Calls whose</h2>
        <label>
          field{" "}
          <input
            className="mono"
            required
            list={`${id}-paths`}
            autoComplete="off"
            value={path}
            onChange={({ target }) => setPath(target.value)}
            placeholder="inputs.question"
          />
        </label>
        <datalist id={`${id}-paths`}>
          {data?.fields.map((field) => (
            <option key={field.path} value={field.path}>
              {field.path}
            </option>
          ))}
        </datalist>
        <select
          aria-label="Comparison"
          value={operator}
          onChange={({ target }) => setOperator(operators.find((name) => name === target.value) ?? "=")}
        >
          {operators.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <label>
          value{" "}
          <input
            list={`${id}-values`}
            autoComplete="off"
            value={value}
            onChange={({ target }) => setValue(target.value)}
          />
        </label>
        <datalist id={`${id}-values`}>
          {values.map((known) => (
            <option key={known.value} value={known.value}>
              {known.value}
            </option>
          ))}
        </datalist>
        <p className="quiet prose">
          Any field: <code>inputs</code>, <code>output</code>, <code>attributes</code> or <code>summary</code> with a
          path, <code>summary.weave.latency_ms</code>, <code>wb_user_id</code>, <code>exception</code>,{" "}
          <code>feedback.[type].payload.path</code>.
        </p>
        <div>
          <button className="primary">Add the condition</button>{" "}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  );
}
