import { callsAggregate, projectStats, projectTtlSettingsRead, projectTtlSettingsUpdate } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import type { FormEvent } from "react";
import { useMe } from "../data/use-me.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { counted, formatBytes, formatCount } from "../ui/format.js";
import { Waiting } from "../ui/waiting.js";

const longestDays = 36_500;
const dayMs = 86_400_000;

/** How long a project keeps its calls, and what it keeps. */
export function RetentionView({ projectId }: { projectId: string }) {
  const session = useSession();
  const me = useMe();
  const settings = useQuery({
    queryKey: ["retention", projectId],
    queryFn: ({ signal }) => projectTtlSettingsRead(session.connection, { project_id: projectId }, { signal }),
  });
  const days = settings.data?.retention_days;
  return (
    <>
      {settings.error !== null && (
        <Failure what="The retention cannot be read." error={settings.error} onRetry={() => settings.refetch()} />
      )}
      {settings.data === undefined && settings.error === null && <Waiting what="Loading the retention" />}
      {days !== undefined && (
        <p className="prose">
          {days === null
            ? "Calls are kept until they are deleted."
            : `Calls are kept for ${counted(days, "day")} from their start, and deleted then with their feedback.`}{" "}
          Objects, tables and files are kept.
        </p>
      )}
      {days !== undefined && me.data?.role === "admin" && (
        <RetentionForm key={String(days)} projectId={projectId} days={days} onChanged={() => void settings.refetch()} />
      )}
      {days !== undefined && me.data !== undefined && me.data.role !== "admin" && (
        <p className="prose quiet">
          Your key may {me.data.role}: keys with the role <code>admin</code> change it.
        </p>
      )}
      <Stored projectId={projectId} />
    </>
  );
}

interface FormProps {
  projectId: string;
  days: number | null;
  onChanged: () => void;
}

/** Asks twice, the second time with the number of calls that are deleted. */
function RetentionForm({ projectId, days, onChanged }: FormProps) {
  const session = useSession();
  const id = useId();
  const [text, setText] = useState(days === null ? "" : String(days));
  const [state, setState] = useState<{ asked?: { days: number | null; calls: number }; error?: unknown; busy?: true }>(
    {},
  );
  const ask = async (event: FormEvent) => {
    event.preventDefault();
    const wanted = text.trim() === "" ? null : Number(text);
    setState({ busy: true });
    try {
      setState({ asked: { days: wanted, calls: wanted === null ? 0 : await countOlder(wanted) } });
    } catch (error) {
      setState({ error });
    }
  };
  const countOlder = async (than: number) => {
    const before = (Date.now() - than * dayMs) / 1000;
    const { total } = await callsAggregate(session.connection, {
      project_id: projectId,
      query: { $expr: { $not: [{ $gte: [{ $getField: "started_at" }, { $literal: before }] }] } },
    });
    return total.values["count"] ?? 0;
  };
  const set = async (wanted: number | null) => {
    setState({ busy: true });
    try {
      await projectTtlSettingsUpdate(session.connection, {
        project_id: projectId,
        ...(wanted !== null && { retention_days: wanted }),
      });
      setState({});
      onChanged();
    } catch (error) {
      setState({ error });
    }
  };
  const { asked, error, busy } = state;
  return (
    <form className="retention" onSubmit={(event) => void ask(event)}>
      <label htmlFor={id}>Keep calls for so many days; without a number until they are deleted</label>
      <div className="settings-line">
        <input
          id={id}
          type="number"
          min={1}
          max={longestDays}
          step={1}
          value={text}
          onChange={({ target }) => {
            setText(target.value);
            setState({});
          }}
        />
        <button disabled={busy === true || asked !== undefined || text === String(days ?? "")}>Change</button>
      </div>
      {asked !== undefined && (
        <div role="alert" className="retention-question">
          <p>
            {asked.days === null ? (
              "Calls that are there now and those to come will be kept until they are deleted."
            ) : asked.calls === 0 ? (
              `No call is older than ${counted(asked.days, "day")} now; calls will be deleted when they are.`
            ) : (
              <>
                <strong className="is-error">
                  {counted(asked.calls, "call")} older than {counted(asked.days, "day")} will be deleted now, for good.
                </strong>
              </>
            )}
          </p>
          <div className="settings-line">
            <button type="button" className="primary" onClick={() => void set(asked.days)}>
              {asked.calls > 0 ? `Delete ${counted(asked.calls, "call")} and keep to that` : "Set it"}
            </button>
            <button type="button" onClick={() => setState({})}>
              Leave it
            </button>
          </div>
        </div>
      )}
      {error !== undefined && <Failure what="The retention was not changed." error={error} />}
    </form>
  );
}

/** What is in a project, and how large it is. */
function Stored({ projectId }: { projectId: string }) {
  const session = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: ["stored", projectId],
    queryFn: ({ signal }) => projectStats(session.connection, { project_id: projectId }, { signal }),
    staleTime: 60_000,
  });
  if (error !== null)
    return <Failure what="What is stored cannot be counted." error={error} onRetry={() => refetch()} />;
  if (data === undefined) return <Waiting what="Counting what is stored" />;
  const rows: [what: string, count: number, bytes: number | undefined][] = [
    ["calls", data.call_count, data.trace_storage_size_bytes],
    ["versions of objects", data.object_version_count, data.objects_storage_size_bytes],
    ["rows of tables", data.table_row_count, data.tables_storage_size_bytes],
    ["files", data.file_count, data.files_storage_size_bytes],
    ["feedback", data.feedback_count, undefined],
  ];
  return (
    <table className="plain-table is-short">
      <caption>What the project keeps now, uncompressed</caption>
      <thead>
        <tr>
          <th scope="col">what</th>
          <th scope="col" className="figure">
            number
          </th>
          <th scope="col" className="figure">
            size
          </th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([what, count, bytes]) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td className="figure">{formatCount(count)}</td>
            <td className="figure">{bytes !== undefined && formatBytes(bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
