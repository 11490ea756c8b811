import { useRef, useState } from "react";
import type { FormEvent } from "react";
import { useCommands } from "../../commands/use-commands.js";
import { newId } from "../../data/new-id.js";
import { useReadOnlyReason } from "../../data/use-read-only.js";
import { emojis, longestNote, note, noteType, reaction, reactionType } from "../../feedback/kinds.js";
import type { NewFeedback } from "../../feedback/kinds.js";
import { useSession } from "../../session/session-context.js";
import { JsonView } from "../../json/json-view.js";
import { stringMember } from "../../json/members.js";
import { Ago } from "../../ui/ago.js";
import { Failure } from "../../ui/failure.js";
import { visibleLine, visibleText } from "../../ui/visible-text.js";
import { feedbackCommands } from "./feedback-commands.js";
import { useFeedback } from "./use-feedback.js";
import "./feedback.css";

/** What was said of a call, and a place to say more. */
export function Feedback({ projectId, callId }: { projectId: string; callId: string }) {
  const { query, give, takeBack } = useFeedback(projectId, callId);
  const readOnly = useReadOnlyReason();
  const isShared = useSession().share !== undefined;
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const send = (given: NewFeedback) => give.mutate({ id: newId(), given });
  const react = (index: number) => (readOnly === undefined ? () => send(reaction(emojis[index] ?? "")) : undefined);
  useCommands({ scope: "Feedback" }, feedbackCommands, {
    reaction1: react(0),
    reaction2: react(1),
    reaction3: react(2),
    reaction4: react(3),
    reaction5: react(4),
    note: readOnly === undefined ? () => field.current?.focus() : undefined,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === "") return;
    send(note(text.trim()));
    setText("");
  };
  const failed = give.error ?? takeBack.error;
  // Who follows a link reads what was said, and is offered nothing that the link does not allow.
  if (isShared && query.error === null && (query.data ?? []).length === 0) return undefined;
  return (
    <section className="span-part feedback" aria-label="Feedback">
      <div className="span-part-head">
        <h3>feedback</h3>
        <div className="feedback-emojis" hidden={isShared}>
          {emojis.map((emoji, index) => (
            <button
              key={emoji}
              className="plain"
              disabled={readOnly !== undefined}
              title={readOnly ?? `React (${index + 1})`}
              aria-label={`React with ${emoji}`}
              onClick={react(index)}
            >
              {emoji}
            </button>
          ))}
        </div>
      </div>
      {query.error !== null && (
        <Failure what="The feedback cannot be read." error={query.error} onRetry={() => query.refetch()} />
      )}
      <ul>
        {query.data?.map(({ id, type, payload, creator, createdAt }) => (
          <li key={id}>
            <Said type={type} payload={payload} />
            <span className="quiet">
              {creator !== "" && <span className="given">{visibleLine(creator)} </span>}
              <Ago time={createdAt} />
            </span>
            {readOnly === undefined && (
              <button className="plain" aria-label="Take it back" onClick={() => takeBack.mutate(id)}>
                ×
              </button>
            )}
          </li>
        ))}
      </ul>
      {readOnly === undefined ? (
        <form onSubmit={submit}>
          <input
            ref={field}
            aria-label="Note"
            placeholder="A note   f"
            maxLength={longestNote}
            value={text}
            onChange={({ target }) => setText(target.value)}
            onKeyDown={({ key }) => key === "Escape" && field.current?.blur()}
          />
          <button>Add</button>
        </form>
      ) : (
        <p className="quiet">{readOnly}</p>
      )}
      {failed !== null && <Failure what="The feedback was not changed." error={failed} />}
    </section>
  );
}

function Said({ type, payload }: { type: string; payload: string }) {
  if (type === reactionType) return <span>{visibleLine(stringMember(payload, "emoji") ?? payload)}</span>;
  if (type === noteType)
    return <span className="message-text given">{visibleText(stringMember(payload, "note") ?? payload)}</span>;
  return (
    <div>
      <span className="mono given">{visibleLine(type)}</span>
      <JsonView label={type} text={payload} />
    </div>
  );
}
