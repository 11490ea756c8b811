import { Failure } from "../../ui/failure.js";
import { counted } from "../../ui/format.js";
import { Waiting } from "../../ui/waiting.js";
import { Conversation } from "./conversation.js";
import { useTraceMessages } from "./use-trace-messages.js";

interface Props {
  projectId: string;
  traceId: string;
  /** Sequence of the tree: where that is newer, so may the messages be. */
  seq: string | undefined;
  onSelect: (id: string) => void;
}

/** What was said in a trace, from the first message to the last. */
export function TraceConversation({ projectId, traceId, seq, onSelect }: Props) {
  const { data, error, refetch } = useTraceMessages(projectId, traceId, seq);
  const messages = data?.messages ?? [];
  return (
    <section className="span" aria-label="Conversation of the trace">
      <header className="span-head">
        <h2>Conversation of the trace</h2>
        {data !== undefined && (
          <span className="quiet">
            {counted(messages.length, "message")} of {data.isCut && "the first "}
            {counted(data.calls, "call")} to models
          </span>
        )}
      </header>
      {error !== null && <Failure what="The messages cannot be read." error={error} onRetry={() => void refetch()} />}
      {data === undefined && error === null && <Waiting what="Loading the messages" />}
      {data !== undefined && messages.length === 0 && (
        <p className="prose">No call of this trace has messages of a known form. Each call has its JSON.</p>
      )}
      <Conversation
        messages={messages.map(({ message }) => message)}
        renderOrigin={(place) => (
          <button className="plain" onClick={() => onSelect(messages[place]?.callId ?? "")}>
            open the call
          </button>
        )}
      />
    </section>
  );
}
