import { useMemo } from "react";
import { Failure } from "../../ui/failure.js";
import { counted } from "../../ui/format.js";
import { visibleLine } from "../../ui/visible-text.js";
import { Waiting } from "../../ui/waiting.js";
import { Conversation } from "./conversation.js";
import { useTraceMessages } from "./use-trace-messages.js";

interface Props {
  projectId: string;
  traceId: string;
  /** Sequence of the tree: where that is newer, so may the messages be. */
  seq: string | undefined;
  /** Of a call, by its id. */
  nameOf: (id: string) => string;
  onSelect: (id: string) => void;
}

/** What was said in a trace, from the first message to the last. */
export function TraceConversation({ projectId, traceId, seq, nameOf, onSelect }: Props) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useTraceMessages(
    projectId,
    traceId,
    seq,
  );
  const messages = useMemo(() => data?.pages.flatMap((step) => step.messages) ?? [], [data]);
  const calls = data?.pages.reduce((sum, step) => sum + step.calls, 0) ?? 0;
  return (
    <section className="span" aria-label="Conversation of the trace">
      <header className="span-head">
        <h2>Conversation of the trace</h2>
        {data !== undefined && (
          <span className="quiet">
            {counted(messages.length, "message")} of {hasNextPage && "the first "}
            {counted(calls, "call")} to models
          </span>
        )}
        {hasNextPage && (
          <button aria-disabled={isFetchingNextPage} onClick={() => !isFetchingNextPage && void fetchNextPage()}>
            {isFetchingNextPage ? "Reading later calls…" : "Read later calls"}
          </button>
        )}
      </header>
      {error !== null && <Failure what="The messages cannot be read." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Loading the messages" />}
      {data !== undefined && messages.length === 0 && (
        <p className="prose">No call of this trace has messages of a known form. Each call has its JSON.</p>
      )}
      <Conversation
        messages={messages.map(({ message }) => message)}
        renderOrigin={(place) => <Origin id={messages[place]?.callId ?? ""} nameOf={nameOf} onSelect={onSelect} />}
      />
    </section>
  );
}

/** Leads to the call that had a message first. */
function Origin({ id, nameOf, onSelect }: Pick<Props, "nameOf" | "onSelect"> & { id: string }) {
  const name = visibleLine(nameOf(id) || id);
  return (
    <button className="plain given" aria-label={`Open ${name}`} onClick={() => onSelect(id)}>
      {name}
    </button>
  );
}
