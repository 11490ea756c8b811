import { Link, useNavigate, useParams, useSearch } from "../router/routing.js";
import type { CSSProperties, ReactNode } from "react";
import { useMemo, useRef, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { scrollToRow } from "../grid/use-row-window.js";
import { linkToProject } from "../project/project-link.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { copyText } from "../ui/notice.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { Alignment } from "./alignment.js";
import type { Closed } from "./alignment.js";
import { ComparedCalls } from "./compared-calls.js";
import { ComparedTree, rowHeight } from "./compared-tree.js";
import { comparisonCommands } from "./comparison-commands.js";
import { ComparisonHead } from "./comparison-head.js";
import { ComparisonSummary } from "./comparison-summary.js";
import { outlineRequest, useCompared } from "./use-compared.js";
import type { ComparedTrace } from "./use-compared.js";
import "../call/call-screen.css";
import "../call/span-details.css";
import "./comparison.css";

const from = "/$entity/$project/compare";

/** Two calls with what is below them, as one tree of what differs. */
export function ComparisonScreen() {
  const { entity, project } = useParams({ from });
  const { a, b } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const toTable = <Link {...linkToProject(projectId)}>← calls</Link>;
  if (a === undefined || b === undefined)
    return (
      <Note
        back={toTable}
        title={a === undefined && b === undefined ? "No calls are chosen" : "Another call is needed"}
      >
        Two calls are compared: choose two in the table of calls with <kbd>x</kbd> and press <kbd>=</kbd>, or press{" "}
        <kbd>=</kbd> on an open call and choose the other one.
      </Note>
    );
  if (a === b)
    return (
      <Note back={toTable} title="A and B are the same call">
        There is nothing in which a call differs from itself.{" "}
        <Link to="/$entity/$project/calls/$callId" params={{ entity, project, callId: a }}>
          Open the call
        </Link>{" "}
        and press <kbd>=</kbd> to choose another one.
      </Note>
    );
  return <Compared key={`${projectId} ${a} ${b}`} projectId={projectId} a={a} b={b} back={toTable} />;
}

function Note({ back, title, children }: { back: ReactNode; title: string; children: ReactNode }) {
  return (
    <main className="call">
      <div className="call-note">
        {back}
        <h1>{title}</h1>
        <p className="prose">{children}</p>
      </div>
    </main>
  );
}

interface Props {
  projectId: string;
  a: string;
  b: string;
  back: ReactNode;
}

function Compared({ projectId, a, b, back }: Props) {
  const [left, right] = [useCompared(projectId, a), useCompared(projectId, b)];
  const missing = [left.isMissing && a, right.isMissing && b].filter((id) => id !== false);
  if (missing.length > 0)
    return (
      <Note back={back} title={missing.length === 1 ? "There is no such call" : "There are no such calls"}>
        <span className="mono given">{projectId}</span> has no call{" "}
        <span className="mono given">{visibleLine(missing.join(" and "))}</span>. It was deleted, is older than the
        project keeps calls, or is one of another project.
      </Note>
    );
  const [before, after] = [left.trace, right.trace];
  if (before !== undefined && after !== undefined)
    return <Differences projectId={projectId} before={before} after={after} back={back} />;
  const failed = [left, right].filter(({ error }) => error !== null);
  return (
    <main className="call">
      <div className="call-note">
        {back}
        <h1 className="unseen">Two traces</h1>
        {failed.length === 0 ? (
          <Waiting what="Loading both traces" />
        ) : (
          <Failure
            what="A trace cannot be read."
            error={failed[0]?.error}
            onRetry={() => Promise.all(failed.map((each) => each.retry()))}
          />
        )}
      </div>
    </main>
  );
}

interface DifferencesProps {
  projectId: string;
  before: ComparedTrace;
  after: ComparedTrace;
  back: ReactNode;
}

/** Rows that PageDown moves. */
const pageStep = 20;

function Differences({ projectId, before, after, back }: DifferencesProps) {
  const { at, only } = useSearch({ from });
  const navigate = useNavigate({ from });
  const [closed, setClosed] = useState<Closed>(new Set());
  const scroller = useRef<HTMLDivElement>(null);
  const alignment = useMemo(
    () =>
      new Alignment({ outline: before.outline, root: before.call.id }, { outline: after.outline, root: after.call.id }),
    [before.outline, after.outline, before.call.id, after.call.id],
  );
  const selected = Math.max(0, alignment.rowOf(at ?? `a ${before.call.id}`));
  // What is selected by the address can be seen.
  const closedRows = useMemo(() => alignment.reveal(selected, closed), [alignment, selected, closed]);
  const isOnly = only !== undefined;
  const rows = useMemo(() => alignment.rows(closedRows, isOnly), [alignment, closedRows, isOnly]);
  const places = useMemo(() => new Map(rows.map((row, place) => [row, place])), [rows]);
  const current = places.get(selected) ?? -1;
  const select = (row: number | undefined) => {
    if (row === undefined || row < 0) return;
    setClosed(alignment.reveal(row, closedRows));
    void navigate({ search: (given) => ({ ...given, at: alignment.key(row) }), replace: true });
  };
  const selectAt = (place: number) => {
    const bounded = Math.max(0, Math.min(rows.length - 1, place));
    select(rows[bounded]);
    scrollToRow(scroller.current, bounded, rowHeight, rowHeight);
  };
  const toggle = (row: number) => {
    const key = alignment.key(row);
    const now = new Set(closedRows);
    if (!now.delete(key)) now.add(key);
    setClosed(now);
  };
  const openCall = (callId: string) =>
    void navigate({
      to: "/$entity/$project/calls/$callId",
      params: { ...linkToProject(projectId).params, callId },
    });
  const swap = () =>
    void navigate({
      search: (given) => ({
        ...given,
        a: after.call.id,
        b: before.call.id,
        at: otherSide(alignment, selected),
      }),
      replace: true,
    });
  const any = rows.length > 0;
  const isParent = current >= 0 && (alignment.end[selected] ?? 0) > selected + 1;
  const isOpen = isParent && !closedRows.has(alignment.key(selected));
  const [aCall, bCall] = [alignment.a[selected] ?? -1, alignment.b[selected] ?? -1];
  const a = aCall < 0 ? undefined : before.outline.id(aCall);
  const b = bCall < 0 ? undefined : after.outline.id(bCall);
  const [next, previous] = ([1, -1] as const).map((step) => alignment.next(selected, step));
  const toggleOnly = () =>
    void navigate({ search: (given) => ({ ...given, only: isOnly ? undefined : "differences" }), replace: true });
  useCommands({ scope: "Comparison" }, comparisonCommands, {
    down: any ? () => selectAt(current + 1) : undefined,
    up: any ? () => selectAt(current - 1) : undefined,
    pageDown: any ? () => selectAt(current + pageStep) : undefined,
    pageUp: any ? () => selectAt(current - pageStep) : undefined,
    first: any ? () => selectAt(0) : undefined,
    last: any ? () => selectAt(rows.length - 1) : undefined,
    nextDifference: next === undefined || next < 0 ? undefined : () => select(next),
    previousDifference: previous === undefined || previous < 0 ? undefined : () => select(previous),
    closeOrParent: any ? () => (isOpen ? toggle(selected) : select(alignment.parent(selected))) : undefined,
    open: isParent ? () => (isOpen ? selectAt(current + 1) : toggle(selected)) : undefined,
    toggle: isParent ? () => toggle(selected) : undefined,
    only: toggleOnly,
    swap,
    openA: a === undefined ? undefined : () => openCall(a),
    openB: b === undefined ? undefined : () => openCall(b),
    curl: () =>
      copyText(
        [before, after]
          .map(({ call }) => asCurl(serviceUrl(), "/trace/outline", outlineRequest(projectId, call)))
          .join("\n"),
        "the requests as curl",
      ),
    back: () => void navigate(linkToProject(projectId)),
  });
  return (
    <main className="call">
      <ComparisonHead projectId={projectId} before={before} after={after} back={back} onSwap={swap} />
      <div className="trace">
        <section
          className="trace-rows"
          aria-label="Calls of both traces"
          style={{ "--rows": Math.max(4, rows.length) } as CSSProperties}
        >
          {any ? (
            <ComparedTree
              alignment={alignment}
              rows={rows}
              closed={closedRows}
              current={current}
              onSelect={selectAt}
              onToggle={toggle}
              scroller={scroller}
            />
          ) : (
            <p className="call-note compared-none">
              No call differs in status, inputs, output or tokens. Times and costs may.{" "}
              <button onClick={toggleOnly}>Show all calls</button>
            </p>
          )}
          <ComparisonSummary alignment={alignment} isOnly={isOnly} onOnly={toggleOnly} />
        </section>
        <ComparedCalls
          projectId={projectId}
          name={alignment.name(selected)}
          a={a}
          b={b}
          links={
            <span className="compared-links">
              {[
                ["A", "a", a],
                ["B", "b", b],
              ].map(
                ([side, key, id]) =>
                  id !== undefined && (
                    <Link
                      key={side}
                      to="/$entity/$project/calls/$callId"
                      params={{ ...linkToProject(projectId).params, callId: id }}
                    >
                      open {side} <kbd>{key}</kbd>
                    </Link>
                  ),
              )}
            </span>
          }
        />
      </div>
    </main>
  );
}

/** The key of a row once A and B were exchanged. */
function otherSide(alignment: Alignment, row: number): string {
  const [a, b] = [alignment.a[row] ?? -1, alignment.b[row] ?? -1];
  return b < 0 ? `b ${alignment.before.id(a)}` : `a ${alignment.after.id(b)}`;
}
