import { JsonView } from "../json/json-view.js";
import { Status } from "../call-parts/status.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { formatBytes, formatDuration } from "../ui/format.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { nameOfCall, statusOf } from "./call-facts.js";
import type { CallFacts } from "./call-facts.js";
import { useCall } from "./use-call.js";
import "./span-details.css";

/** A call with everything that was recorded of it, as it was sent. */
export function SpanDetails({ projectId, id }: { projectId: string; id: string }) {
  const { data: call, error, refetch } = useCall(projectId, id);
  return (
    <section className="span" aria-label="Call">
      {error !== null && <Failure what="The call cannot be read." error={error} onRetry={() => void refetch()} />}
      {call === undefined && error === null && <Waiting what="Loading the call" />}
      {call === null && <p>The call was deleted.</p>}
      {call !== undefined && call !== null && <Details call={call} />}
    </section>
  );
}

function Details({ call }: { call: CallFacts }) {
  const { op_name, thread_id, exception, started_at, ended_at } = call;
  return (
    <>
      <header className="span-head">
        <h2 className="given">{visibleLine(nameOfCall(call))}</h2>
        <Status status={statusOf(call)} />
        {ended_at !== undefined && <span>{formatDuration(Date.parse(ended_at) - Date.parse(started_at))}</span>}
      </header>
      {exception !== undefined && (
        <div className="span-part">
          <h3 className="is-error">✗ exception</h3>
          <pre className="span-text is-error given">{visibleText(exception)}</pre>
        </div>
      )}
      <Part name="inputs" text={call.inputs.text} />
      <Part
        name="output"
        text={ended_at === undefined && call.output?.text === "null" ? undefined : call.output?.text}
        missing={ended_at === undefined ? "Not there yet: the call runs." : "None."}
      />
      <Part name="summary" text={call.summary?.text} missing="None." />
      <Part name="attributes" text={call.attributes.text} />
      <dl className="span-facts">
        <Fact name="id" value={call.id} />
        <Fact name="trace" value={call.trace_id} />
        {call.parent_id !== undefined && <Fact name="parent" value={call.parent_id} />}
        {thread_id !== undefined && <Fact name="thread" value={thread_id} />}
        {op_name !== undefined && <Fact name="op" value={op_name} />}
        <Fact name="started" value={started_at} />
        {ended_at !== undefined && <Fact name="ended" value={ended_at} />}
      </dl>
    </>
  );
}

function Part({ name, text, missing = "" }: { name: string; text: string | undefined; missing?: string }) {
  return (
    <div className="span-part">
      <div className="span-part-head">
        <h3>{name}</h3>
        {text !== undefined && (
          <>
            <span className="quiet">{formatBytes(new Blob([text]).size)}</span>
            <CopyButton text={() => text} />
          </>
        )}
      </div>
      {text === undefined ? <p className="quiet">{missing}</p> : <JsonView label={name} text={text} />}
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="mono given">{visibleLine(value)}</dd>
    </div>
  );
}
