import type { ReactNode } from "react";
import type { CallFacts } from "../call/call-facts.js";
import { useCall } from "../call/use-call.js";
import { Changes, JsonChanges } from "../diff/changes.js";
import { JsonView } from "../json/json-view.js";
import { CopyButton } from "../ui/copy-button.js";
import { Failure } from "../ui/failure.js";
import { visibleLine, visibleText } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";

interface Props {
  projectId: string;
  name: string;
  /** Ids; undefined where a call has no partner. */
  a: string | undefined;
  b: string | undefined;
  /** Leads to the calls in their traces. */
  links: ReactNode;
}

/** The calls of a row: what they were given and returned, and what of it differs. */
export function ComparedCalls({ projectId, name, a, b, links }: Props) {
  return (
    <section className="span" aria-label="Calls of the row">
      <header className="span-head">
        <h2 className="given">{visibleLine(name)}</h2>
        {links}
      </header>
      {a !== undefined && b !== undefined ? (
        <Both key={`${a} ${b}`} projectId={projectId} a={a} b={b} />
      ) : (
        <One key={a ?? b} projectId={projectId} id={a ?? b ?? ""} side={a === undefined ? "B" : "A"} />
      )}
    </section>
  );
}

function Both({ projectId, a, b }: { projectId: string; a: string; b: string }) {
  const [left, right] = [useCall(projectId, a), useCall(projectId, b)];
  const failed = [left, right].find(({ error }) => error !== null);
  if (failed !== undefined)
    return <Failure what="A call cannot be read." error={failed.error} onRetry={() => failed.refetch()} />;
  if (left.data === undefined || right.data === undefined) return <Waiting what="Loading the calls" />;
  if (left.data === null || right.data === null)
    return <p>The call of {left.data === null ? "A" : "B"} was deleted meanwhile.</p>;
  const [before, after] = [left.data, right.data];
  return (
    <>
      {(before.exception !== undefined || after.exception !== undefined) && (
        <Changes title="exception" before={linesOf(before.exception)} after={linesOf(after.exception)} />
      )}
      {parts.map((part) => (
        <JsonChanges key={part} title={part} before={textOf(before, part)} after={textOf(after, part)} />
      ))}
    </>
  );
}

const parts = ["inputs", "output", "summary", "attributes"] as const;

/** Nothing was returned by a call that runs, or failed. */
function textOf(call: CallFacts, part: (typeof parts)[number]): string {
  const text = call[part]?.text ?? "";
  return part === "output" && text === "null" && (call.ended_at === undefined || call.exception !== undefined)
    ? ""
    : text;
}

const linesOf = (text = ""): string[] => (text === "" ? [] : text.split("\n"));

function One({ projectId, id, side }: { projectId: string; id: string; side: "A" | "B" }) {
  const { data: call, error, refetch } = useCall(projectId, id);
  if (error !== null) return <Failure what="The call cannot be read." error={error} onRetry={() => refetch()} />;
  if (call === undefined) return <Waiting what="Loading the call" />;
  if (call === null) return <p>The call was deleted meanwhile.</p>;
  return (
    <>
      <p className="quiet">
        Only {side} has this call. {side === "A" ? "B" : "A"} has none of this name at its place.
      </p>
      {call.exception !== undefined && (
        <div className="span-part">
          <h3 className="is-error">✗ exception</h3>
          <pre className="span-text is-error given">{visibleText(call.exception)}</pre>
        </div>
      )}
      {(["inputs", "output"] as const).map((part) => {
        const text = textOf(call, part);
        return (
          <div key={part} className="span-part">
            <div className="span-part-head">
              <h3>{part}</h3>
              {text !== "" && <CopyButton text={() => text} />}
            </div>
            {text === "" ? <p className="quiet">None.</p> : <JsonView label={part} text={text} />}
          </div>
        );
      })}
    </>
  );
}
