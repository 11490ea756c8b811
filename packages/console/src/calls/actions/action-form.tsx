import { HeddleApiError } from "@heddle/client/tracing";
import type { MatchingRes } from "@heddle/client/tracing";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { FormEvent, ReactNode } from "react";
import { useReadOnlyReason } from "../../data/use-read-only.js";
import { Failure } from "../../ui/failure.js";
import { counted, formatCount } from "../../ui/format.js";
import { Waiting } from "../../ui/waiting.js";
import { mostAtOnce } from "./calls-to-act-on.js";
import type { CallsToActOn } from "./calls-to-act-on.js";
import { useChosenCount } from "./use-chosen-count.js";
import type { ActionProps } from "./action-props.js";

type Response = Pick<MatchingRes, "done" | "skipped">;

interface Props<Res extends Response> extends ActionProps {
  title: string;
  /** `Add 12 calls`, by their number. */
  verb: (calls: string) => string;
  act: (calls: CallsToActOn) => Promise<Res>;
  /** What was done with so many calls. */
  doneWords: (calls: string, response: Res) => ReactNode;
  /** Whether the number of calls is to be entered, too. */
  asksCount?: boolean;
  children?: ReactNode;
}

const reasonWords: Record<string, string> = {
  in_queue: "in the queue before",
  gone: "deleted meanwhile",
  no_values: "without any of the values",
};

/** Counts the calls, asks, does it, and says what was done. Other calls than were counted are left alone. */
export function ActionForm<Res extends Response>({
  title,
  verb,
  act,
  doneWords,
  asksCount = false,
  children,
  ...props
}: Props<Res>) {
  const { projectId, selection, order, onDone, onClose } = props;
  const client = useQueryClient();
  const readOnly = useReadOnlyReason();
  const count = useChosenCount(projectId, selection);
  const [entered, setEntered] = useState("");
  const [state, setState] = useState<{ isSending?: true; error?: unknown; done?: Res }>({});
  const of = Math.min(count.data ?? 0, mostAtOnce);
  const words = counted(of, "call");
  const send = async (expected: number) => {
    setState({ isSending: true });
    try {
      setState({ done: await act({ ...selection, sort_by: order, expected_count: expected, limit: mostAtOnce }) });
      onDone();
    } catch (error) {
      setState({ error });
      // Others match by now: they are counted again, and nothing is done unasked.
      if (error instanceof HeddleApiError && error.status === 409)
        await client.invalidateQueries({ queryKey: ["chosen-count"] });
    }
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (count.data !== undefined) void send(count.data);
  };
  const isCountMissing = asksCount && entered.replaceAll(/\D/g, "") !== String(of);
  return (
    <form className="action-form" onSubmit={submit}>
      <h2>{title}</h2>
      {count.error !== null && (
        <Failure what="The calls cannot be counted." error={count.error} onRetry={() => count.refetch()} />
      )}
      {count.data === undefined && count.error === null && <Waiting what="Counting the calls" />}
      {state.done === undefined ? (
        <>
          {count.data !== undefined && (
            <p>
              {counted(count.data, "call")} {count.data === 1 ? "matches" : "match"}.
              {count.data > mostAtOnce && ` At most ${formatCount(mostAtOnce)} at a time: the first of the table.`}
            </p>
          )}
          {children}
          {asksCount && of > 0 && (
            <label>
              Enter {formatCount(of)} to confirm{" "}
              <input
                inputMode="numeric"
                autoComplete="off"
                value={entered}
                onChange={({ target }) => setEntered(target.value)}
              />
            </label>
          )}
          {readOnly !== undefined && <p className="is-error">{readOnly}</p>}
          {state.error !== undefined && <Failure what="Nothing was done." error={state.error} />}
        </>
      ) : (
        <>
          <p role="status">{doneWords(counted(state.done.done, "call"), state.done)}</p>
          {state.done.skipped.map(({ reason, count: left }) => (
            <p key={reason} className="quiet">
              {counted(left, "call")} left out: {reasonWords[reason] ?? reason}
            </p>
          ))}
        </>
      )}
      <div>
        {state.done === undefined && (
          <button
            className="primary"
            disabled={
              readOnly !== undefined || of === 0 || count.isFetching || state.isSending === true || isCountMissing
            }
          >
            {verb(words)}
          </button>
        )}{" "}
        <button type="button" onClick={onClose}>
          {state.done === undefined ? "Cancel" : "Close"}
        </button>
      </div>
    </form>
  );
}
