import { shareCreate, shareList, shareRevoke } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { useSession } from "../../session/session-context.js";
import { CopyButton } from "../../ui/copy-button.js";
import { Failure } from "../../ui/failure.js";
import { formatMoment } from "../../ui/format.js";
import { useNow } from "../../ui/use-now.js";
import { visibleLine } from "../../ui/visible-text.js";
import "./share-dialog.css";

const dialogCommands = { close: { title: "Close", keys: ["Escape"] } };

/** How long links are valid, in seconds. */
const durations = { "an hour": 3600, "a day": 86_400, "a week": 604_800, "30 days": 2_592_000 };

interface Props {
  projectId: string;
  traceId: string;
  onClose: () => void;
}

/** Makes links by which anybody can look at a trace, and ends those that there are. */
export function ShareDialog({ projectId, traceId, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const session = useSession();
  const now = useNow();
  const id = useId();
  const [seconds, setSeconds] = useState(durations["a week"]);
  const [hidden, setHidden] = useState("");
  const [state, setState] = useState<{ error?: unknown; busy?: true; url?: string }>({});
  const { data: shares = [], refetch } = useQuery({
    queryKey: ["shares", projectId],
    queryFn: async ({ signal }) => (await shareList(session.connection, { project_id: projectId }, { signal })).shares,
  });
  useEffect(() => dialog.current?.showModal(), []);
  useCommands({ scope: "Share", modal: true }, dialogCommands, { close: onClose });
  const change = async (act: () => Promise<string | undefined>) => {
    setState({ busy: true });
    try {
      const url = await act();
      setState(url === undefined ? {} : { url });
      await refetch();
    } catch (error) {
      setState({ error });
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const redact = hidden.split(/[\n,]/).map((path) => path.trim());
    const request = { project_id: projectId, trace_id: traceId, expires_in: seconds, redact: redact.filter(Boolean) };
    void change(async () => (await shareCreate(session.connection, request)).url);
  };
  const revoke = (shareId: string) =>
    change(async () => {
      await shareRevoke(session.connection, { share_id: shareId, project_id: projectId });
      return undefined;
    });
  const ofTrace = shares.filter(({ trace_id }) => trace_id === traceId);
  return (
    <dialog ref={dialog} aria-labelledby={`${id}-title`} onClose={onClose}>
      <form className="share-dialog" onSubmit={submit}>
        <h2 id={`${id}-title`}>Share the trace</h2>
        <p>Whoever has the link sees all calls of this trace, without a key, and changes nothing.</p>
        <label>
          Valid for{" "}
          <select value={seconds} onChange={({ target }) => setSeconds(Number(target.value))}>
            {Object.entries(durations).map(([title, value]) => (
              <option key={title} value={value}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <label htmlFor={id}>
          What it does not show: paths such as <code>inputs.customer.phone</code>, <code>output</code> or{" "}
          <code>exception</code>, one a line
        </label>
        <textarea id={id} className="mono" rows={3} value={hidden} onChange={({ target }) => setHidden(target.value)} />
        {state.error !== undefined && <Failure what="Nothing was changed." error={state.error} />}
        {state.url !== undefined && (
          <p className="share-link" role="status">
            <a href={state.url} target="_blank" rel="noreferrer">
              The link
            </a>{" "}
            is shown this once. <CopyButton text={() => state.url ?? ""} label="Copy the link" />
          </p>
        )}
        <div>
          <button className="primary" disabled={state.busy === true}>
            Make a link
          </button>{" "}
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
        {ofTrace.length > 0 && (
          <ul aria-label="Links that are valid">
            {ofTrace.map(({ id: shareId, expires_at, redact }) => (
              <li key={shareId}>
                <span>
                  valid until <time dateTime={expires_at}>{formatMoment(Date.parse(expires_at), now)}</time>
                  {redact.length > 0 && (
                    <>
                      , without <span className="mono given">{visibleLine(redact.join(", "))}</span>
                    </>
                  )}
                </span>
                <button type="button" className="plain" onClick={() => void revoke(shareId)}>
                  Revoke
                </button>
              </li>
            ))}
          </ul>
        )}
      </form>
    </dialog>
  );
}
