import { useMemo, useRef } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useSession } from "../session/session-context.js";
import { serviceUrl } from "../session/service-url.js";
import { copyText } from "../ui/notice.js";
import { Conversation } from "./conversation/conversation.js";
import { messagesOf } from "./conversation/messages.js";
import { Cost } from "./cost/cost.js";
import { Feedback } from "./feedback/feedback.js";
import { Lineage } from "./lineage/lineage.js";
import { chatRequestOf, replayAsCurl, replayAsTypeScript } from "./replay/replay.js";
import type { DetailView } from "./detail-view.js";
import { spanCommands } from "./span-commands.js";
import { findInJson, mostFound } from "../json/find-in-json.js";
import { JsonView } from "../json/json-view.js";
import { Status } from "../call-parts/status.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { FindField } from "../ui/find-field.js";
import { counted, formatBytes, formatDuration } from "../ui/format.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { nameOfCall, statusOf } from "./call-facts.js";
import type { CallFacts } from "./call-facts.js";
import { TryAgain } from "./replay/try-again.js";
import { useCall } from "./use-call.js";
import "./span-details.css";

interface Props {
  projectId: string;
  id: string;
  show: DetailView;
  onShow: (show: DetailView) => void;
  /** What is looked for in the values. */
  words?: string | undefined;
  onWords?: ((words: string | undefined) => void) | undefined;
}

/** A call with everything that was recorded of it, as it was sent. */
export function SpanDetails({ projectId, id, show, onShow, words, onWords }: Props) {
  const { data: call, error, refetch } = useCall(projectId, id);
  return (
    <section className="span" aria-label="Call">
      {error !== null && <Failure what="The call cannot be read." error={error} onRetry={() => refetch()} />}
      {call === undefined && error === null && <Waiting what="Loading the call" />}
      {call === null && <p>The call was deleted.</p>}
      {call !== undefined && call !== null && (
        <>
          <Details
            key={call.id}
            projectId={projectId}
            call={call}
            show={show}
            onShow={onShow}
            words={words}
            onWords={onWords}
          />
          <Cost projectId={projectId} callId={id} />
          <Lineage projectId={projectId} call={call} />
          <Feedback key={`feedback ${call.id}`} projectId={projectId} callId={id} />
          <Facts call={call} />
        </>
      )}
    </section>
  );
}

function Details({ projectId, call, show, onShow, words = "", onWords }: { call: CallFacts } & Omit<Props, "id">) {
  const isShared = useSession().share !== undefined;
  const { exception, started_at, ended_at, inputs, output } = call;
  const messages = useMemo(() => messagesOf({ inputs: inputs.text, output: output?.text }), [inputs, output]);
  const request = useMemo(() => chatRequestOf(inputs.text), [inputs]);
  const isConversation = messages.length > 0 && show === "messages" && words === "";
  const field = useRef<HTMLInputElement>(null);
  useCommands({ scope: "Span" }, spanCommands, {
    show: messages.length === 0 ? undefined : () => onShow(isConversation ? "json" : "messages"),
    find: onWords === undefined ? undefined : () => field.current?.select(),
    replay:
      request === undefined ? undefined : () => copyText(replayAsCurl(serviceUrl(), request), "the replay as curl"),
  });
  return (
    <>
      <header className="span-head">
        <h2 className="given">{visibleLine(nameOfCall(call))}</h2>
        <Status status={statusOf(call)} />
        {ended_at !== undefined && <span>{formatDuration(Date.parse(ended_at) - Date.parse(started_at))}</span>}
        {messages.length > 0 && (
          <button className="plain" onClick={() => onShow(isConversation ? "json" : "messages")}>
            {isConversation ? "As JSON" : "As messages"} <kbd>m</kbd>
          </button>
        )}
        {onWords !== undefined && (
          <span className="span-find">
            <FindField
              key={words}
              field={field}
              label="Find words in the values of the call"
              placeholder="find in values   F"
              text={words}
              found={placesWords([inputs, output, call.summary, call.attributes], words)}
              clear="Find nothing in the values"
              onFind={onWords}
            />
          </span>
        )}
        {request !== undefined && (
          <span>
            {!isShared && <TryAgain projectId={projectId} callId={call.id} />}{" "}
            <CopyButton text={() => replayAsCurl(serviceUrl(), request)} label="Replay as curl" />{" "}
            <CopyButton text={() => replayAsTypeScript(serviceUrl(), request)} label="as TypeScript" />
          </span>
        )}
      </header>
      {exception !== undefined && (
        <div className="span-part">
          <h3 className="is-error">✗ exception</h3>
          <pre className="span-text is-error given">{visibleText(exception)}</pre>
        </div>
      )}
      {isConversation ? (
        <Conversation messages={messages} />
      ) : (
        <>
          <Part name="inputs" text={inputs.text} words={words} />
          <Part
            name="output"
            text={ended_at === undefined && output?.text === "null" ? undefined : output?.text}
            words={words}
            missing={ended_at === undefined ? "Not there yet: the call runs." : "None."}
          />
          <Part name="summary" text={call.summary?.text} words={words} missing="None." />
          <Part name="attributes" text={call.attributes.text} words={words} />
        </>
      )}
    </>
  );
}

function Facts({ call }: { call: CallFacts }) {
  const { op_name, thread_id, started_at, ended_at } = call;
  return (
    <dl className="span-facts">
      <Fact name="id" value={call.id} />
      <Fact name="trace" value={call.trace_id} />
      {call.parent_id !== undefined && <Fact name="parent" value={call.parent_id} />}
      {thread_id !== undefined && <Fact name="thread" value={thread_id} />}
      {op_name !== undefined && <Fact name="op" value={op_name} />}
      <Fact name="started" value={started_at} />
      {ended_at !== undefined && <Fact name="ended" value={ended_at} />}
    </dl>
  );
}

interface PartProps {
  name: string;
  text: string | undefined;
  words: string;
  missing?: string;
}

function Part({ name, text, words, missing = "" }: PartProps) {
  const size = useMemo(() => (text === undefined ? "" : sizeWords(text)), [text]);
  return (
    <div className="span-part">
      <div className="span-part-head">
        <h3>{name}</h3>
        {text !== undefined && (
          <>
            <span className="quiet">{size}</span>
            <CopyButton text={() => text} />
          </>
        )}
      </div>
      {text === undefined ? <p className="quiet">{missing}</p> : <JsonView label={name} text={text} words={words} />}
    </div>
  );
}

/** Of a long text the bytes are not counted: that would hold up the page. */
const sizeWords = (text: string): string =>
  text.length > 1_000_000 ? `≈ ${formatBytes(text.length)}` : formatBytes(new Blob([text]).size);

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="mono given">{visibleLine(value)}</dd>
    </div>
  );
}

function placesWords(values: readonly ({ text: string } | undefined)[], words: string): string {
  const places = values.reduce((sum, json) => sum + findInJson(json?.text ?? "", words).length, 0);
  return `${places >= mostFound ? "at least " : ""}${counted(places, "place")}`;
}
