import { useMemo, useRef, useState } from "react";
import type { CSSProperties, ReactNode } from "react";
import { useCommands } from "../commands/use-commands.js";
import { writeWhere } from "../calls/where.js";
import { scrollToRow } from "../grid/use-row-window.js";
import { linkToProject } from "../project/project-link.js";
import { Link } from "../router/routing.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { FindField } from "../ui/find-field.js";
import { counted, formatCount } from "../ui/format.js";
import { showNotice } from "../ui/notice.js";
import { Waiting } from "../ui/waiting.js";
import { useCutTrace } from "./use-cut-trace.js";
import { useOutline } from "./use-call.js";
import { keyOfRow } from "./outline.js";
import type { Folding, OutlineRow } from "./outline.js";
import { useGrowingTrace } from "./use-growing-trace.js";
import { SpanDetails } from "./span-details.js";
import type { DetailView } from "./detail-view.js";
import { TraceConversation } from "./conversation/trace-conversation.js";
import { TraceTree, treeRowHeight } from "./trace-tree.js";
import { traceCommands } from "./trace-commands.js";

interface Props {
  projectId: string;
  traceId: string;
  /** Id of the call whose details are shown. */
  selected: string;
  onSelect: (id: string) => void;
  /** Only calls whose names have it are shown, and those above them. */
  find?: string | undefined;
  /** Absent where nothing can be looked for. */
  onFind?: (text: string | undefined) => void;
  /** What is looked for in the values of the call. */
  words?: string | undefined;
  onWords?: (words: string | undefined) => void;
  /** The part of the time that is shown; undefined for all of it. */
  zoom: string | undefined;
  onZoom: (zoom: string | undefined) => void;
  show: DetailView;
  onShow: (show: DetailView) => void;
}

/** The tree of a trace with its times, and the call under the cursor. */
export function Trace({
  projectId,
  traceId,
  selected,
  onSelect,
  find,
  onFind,
  words,
  onWords,
  zoom,
  onZoom,
  show,
  onShow,
}: Props) {
  const { data: read, error, refetch } = useOutline(projectId, traceId);
  useGrowingTrace(projectId, traceId, read);
  const { outline, load } = useCutTrace(projectId, traceId, read);
  const session = useSession();
  const [folding, setFolding] = useState<Folding>({ closed: new Set(), unfolded: new Set() });
  /** A row that is not a call: a fold, a missing parent. */
  const [special, setSpecial] = useState<string>();
  const scroller = useRef<HTMLDivElement>(null);
  // What is selected by the address can be seen.
  const revealed = useMemo(
    () => (outline === undefined || special !== undefined ? folding : outline.reveal(selected, folding)),
    [outline, folding, selected, special],
  );
  const found = useMemo(() => (find === undefined ? undefined : outline?.found(find)), [outline, find]);
  const rows = useMemo(() => found?.rows ?? outline?.rows(revealed) ?? [], [outline, revealed, found]);
  const findField = useRef<HTMLInputElement>(null);
  // Of a long trace, to look for a row at each key would be felt.
  const places = useMemo(
    () => new Map(outline === undefined ? [] : rows.map((row, at) => [keyOfRow(outline, row), at])),
    [outline, rows],
  );
  const current = places.get(special ?? `call ${selected}`) ?? -1;

  const select = (at: number) => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, at))];
    if (row === undefined || outline === undefined) return;
    // What was opened to show the call remains open.
    setFolding(revealed);
    if (row.kind === "call") {
      setSpecial(undefined);
      onSelect(outline.id(row.index));
    } else setSpecial(keyOfRow(outline, row));
    scrollToRow(scroller.current, at, treeRowHeight, treeRowHeight);
  };
  const selectCall = (index: number) => {
    if (index < 0 || outline === undefined) return;
    setSpecial(undefined);
    setFolding(outline.reveal(outline.id(index), revealed));
    onSelect(outline.id(index));
  };
  /** Reads what is below a call and not there. It comes where the row for it was. */
  const readMore = async ({ kind }: OutlineRow, below: string) => {
    try {
      const first = await load(below);
      if (first === undefined) showNotice("No further calls are there");
      if (kind !== "more") return;
      setSpecial(undefined);
      if (first !== undefined) onSelect(first);
    } catch (failure) {
      showNotice(`Further calls cannot be read: ${failure instanceof Error ? failure.message : String(failure)}`);
    }
  };
  const setOpen = (row: OutlineRow, isOpen: boolean) => {
    const id = "id" in row ? row.id : (outline?.id(row.index) ?? "");
    if (row.kind === "more" || (row.kind === "call" && isOpen && outline?.end[row.index] === row.index + 1)) {
      void readMore(row, id);
      if (row.kind === "more") return;
    }
    const [closed, unfolded] = [new Set(revealed.closed), new Set(revealed.unfolded)];
    if (row.kind === "fold") {
      if (isOpen) unfolded.add(id);
      else unfolded.delete(id);
    } else if (isOpen) closed.delete(id);
    else closed.add(id);
    setFolding({ closed, unfolded });
  };
  const row = rows[current];
  // The link of a share reads single calls.
  const toggleConversation =
    session.share === undefined ? () => onShow(show === "trace" ? "messages" : "trace") : undefined;
  const isParent = row !== undefined && (row.kind !== "call" || row.isParent);
  const parentRow = () => {
    for (let at = current - 1; at >= 0; at--) if ((rows[at]?.depth ?? 0) < (row?.depth ?? 0)) return at;
    return -1;
  };
  useCommands({ scope: "Trace" }, traceCommands, {
    down: rows.length === 0 ? undefined : () => select(current + 1),
    up: rows.length === 0 ? undefined : () => select(current - 1),
    closeOrParent:
      row === undefined
        ? undefined
        : () => {
            if (isParent && row.isOpen) setOpen(row, false);
            else if (parentRow() >= 0) select(parentRow());
          },
    open: isParent ? () => (row.isOpen ? select(current + 1) : setOpen(row, true)) : undefined,
    toggle: isParent ? () => setOpen(row, !row.isOpen) : undefined,
    find: onFind && (() => findField.current?.focus()),
    conversation: toggleConversation,
    nextError: outline && (() => selectCall(outline.nextError(outline.indexOf(selected), 1))),
    previousError: outline && (() => selectCall(outline.nextError(outline.indexOf(selected), -1))),
  });

  return (
    <div className="trace">
      <section className="trace-rows" aria-label="Trace" style={{ "--rows": rows.length } as CSSProperties}>
        {error !== null && <Failure what="The trace cannot be read." error={error} onRetry={() => refetch()} />}
        {onFind !== undefined && (
          <p className="trace-find">
            <FindField
              key={find}
              field={findField}
              label="Find calls of the trace by name"
              placeholder="find by name   /"
              text={find ?? ""}
              found={found && `${counted(found.found, "call")} found`}
              clear="Show all calls of the trace"
              onFind={onFind}
              onDone={() => scroller.current?.focus()}
            />
          </p>
        )}
        {outline === undefined && error === null && <Waiting what="Loading the trace" />}
        {outline !== undefined && (
          <>
            <TraceTree
              outline={outline}
              rows={rows}
              current={current}
              onSelect={select}
              onToggle={setOpen}
              scroller={scroller}
              zoom={zoom}
              onZoom={onZoom}
            />
            <TraceSummary total={outline.data.total} loaded={outline.length} cycles={outline.data.cycles}>
              {/* The link of a share reads its trace alone. */}
              {!outline.data.complete && session.share === undefined && (
                <Link
                  {...linkToProject(projectId)}
                  search={{ where: writeWhere([{ path: "trace_id", operator: "=", value: traceId }]) }}
                >
                  All of them as a table
                </Link>
              )}
              {zoom !== undefined && (
                <button className="plain" onClick={() => onZoom(undefined)}>
                  Whole time <kbd>Z</kbd>
                </button>
              )}
              {toggleConversation !== undefined && (
                <button className="plain" aria-pressed={show === "trace"} onClick={toggleConversation}>
                  Conversation <kbd>c</kbd>
                </button>
              )}
            </TraceSummary>
          </>
        )}
      </section>
      {show === "trace" ? (
        <TraceConversation
          projectId={projectId}
          traceId={traceId}
          seq={outline?.data.seq}
          nameOf={(id) => (outline === undefined || outline.indexOf(id) < 0 ? "" : outline.name(outline.indexOf(id)))}
          onSelect={(id) => {
            if (outline !== undefined) selectCall(outline.indexOf(id));
            onShow("messages");
          }}
        />
      ) : (
        <SpanDetails projectId={projectId} id={selected} show={show} onShow={onShow} words={words} onWords={onWords} />
      )}
    </div>
  );
}

interface SummaryProps {
  total: number;
  loaded: number;
  cycles: number;
  children: ReactNode;
}

/** What the tree is of, and what it lacks. */
function TraceSummary({ total, loaded, cycles, children }: SummaryProps) {
  return (
    <p className="trace-summary quiet">
      {loaded === total ? counted(total, "call") : `the first ${counted(loaded, "call")} of ${formatCount(total)}`}
      {cycles > 0 && <span className="is-error"> ✗ {counted(cycles, "circle")} of parents, cut at its first call</span>}
      {children}
    </p>
  );
}
