import { callsPage } from "@heddle/client/tracing";
import type { CallRow } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { Latency, Status } from "../../call-parts/status.js";
import { useCommands } from "../../commands/use-commands.js";
import { VirtualGrid } from "../../grid/virtual-grid.js";
import type { Column } from "../../grid/virtual-grid.js";
import { useSession } from "../../session/session-context.js";
import { Ago } from "../../ui/ago.js";
import { Failure } from "../../ui/failure.js";
import { formatCount } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { nameOfCall } from "../call-facts.js";
import type { CallFacts } from "../call-facts.js";
import { idIn } from "./id-in.js";
import { compareWithCommands } from "./compare-with-commands.js";
import "./compare-with.css";

interface Props {
  projectId: string;
  call: CallFacts;
  onChoose: (id: string) => void;
  onClose: () => void;
}

/** Newest calls that are listed. */
const listed = 50;
/** Room for the call itself, which is left out. */
const asked = listed + 1;

type Row = Omit<CallRow, "values" | "feedback">;

/** An op of a project has versions: what it did before a change is what it is compared with. */
const anyVersion = (op: string): string => op.replace(/^(weave:\/\/\/.*):[^:]*$/, "$1:*");

const columns: Column<Row>[] = [
  { id: "started", title: "started", width: 104, grows: true, cell: (row) => <Ago time={row.started_at} /> },
  { id: "status", title: "status", width: 92, cell: ({ status }) => <Status status={status} /> },
  { id: "latency", title: "time", width: 84, align: "end", cell: (row) => <Latency call={row} /> },
  {
    id: "tokens",
    title: "tokens",
    width: 72,
    align: "end",
    cell: ({ tokens }) => (tokens === undefined ? undefined : formatCount(tokens)),
  },
];

/** Chooses the call that another one is compared with: one of the newest of its op, or any by its id or link. */
export function CompareWithDialog({ projectId, call, onChoose, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const id = useId();
  const [current, setCurrent] = useState(0);
  const [given, setGiven] = useState("");
  const { data, error, refetch } = useQuery({
    queryKey: ["calls-alike", projectId, call.op_name, call.id],
    queryFn: async ({ signal }) => {
      const { calls } = await callsPage(
        session.connection,
        {
          project_id: projectId,
          filter: {
            ...(call.op_name !== undefined && { op_names: [anyVersion(call.op_name)] }),
            ...(call.parent_id === undefined && { trace_roots_only: true }),
          },
          select: ["status", "latency_ms", "tokens", "ended_at"],
          limit: asked,
        },
        { signal },
      );
      return calls.filter((row) => row.id !== call.id).slice(0, listed);
    },
  });
  useEffect(() => dialog.current?.showModal(), []);
  const count = data?.length ?? 0;
  const list = useRef<HTMLDivElement>(null);
  // Letters move through the list until somebody goes to the field.
  useEffect(() => {
    if (count > 0) list.current?.querySelector<HTMLElement>("[role=grid]")?.focus();
  }, [count]);
  const choose = (index: number) => {
    const row = data?.[index];
    if (row !== undefined) onChoose(row.id);
  };
  useCommands({ scope: "Compare with", modal: true }, compareWithCommands, {
    down: count > 0 ? () => setCurrent(Math.min(count - 1, current + 1)) : undefined,
    up: count > 0 ? () => setCurrent(Math.max(0, current - 1)) : undefined,
    choose: count > 0 ? () => choose(current) : undefined,
    close: onClose,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const other = idIn(given);
    if (other === "") choose(current);
    else onChoose(other);
  };
  return (
    <dialog ref={dialog} className="compare-with" aria-labelledby={`${id}-title`} onClose={onClose}>
      <h2 id={`${id}-title`}>
        Compare with another <span className="given">{visibleLine(nameOfCall(call))}</span>
      </h2>
      {error !== null && <Failure what="Calls cannot be read." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Loading calls of the op" />}
      {data !== undefined && count === 0 && <p className="quiet">There is no other call of this op.</p>}
      {count > 0 && (
        <div ref={list} className="compare-with-list" style={{ height: (count + 1.5) * 28 }}>
          <VirtualGrid
            label="Calls of the op"
            columns={columns}
            count={count}
            row={(index) => data?.[index]}
            current={current}
            onCurrent={setCurrent}
            onOpen={choose}
            total={count}
          />
        </div>
      )}
      <form onSubmit={submit}>
        <label htmlFor={id}>Or any call of the project, by its id or the address of its page</label>
        <input id={id} autoComplete="off" value={given} onChange={({ target }) => setGiven(target.value)} />
        <p>
          <button className="primary">
            Compare <kbd>Enter</kbd>
          </button>{" "}
          <button type="button" onClick={onClose}>
            Cancel
          </button>
        </p>
      </form>
    </dialog>
  );
}
