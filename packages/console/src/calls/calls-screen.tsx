import { useNavigate, useParams, useSearch } from "../router/routing.js";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { formatCount, formatMoment } from "../ui/format.js";
import { copyText, showNotice } from "../ui/notice.js";
import { useIsVisible } from "../ui/use-is-visible.js";
import { useMedia } from "../ui/use-media.js";
import { Waiting } from "../ui/waiting.js";
import { columnPaths, orderOf, pinnedColumns, readWidths, writeWidths } from "./calls-search.js";
import type { CallsSearch } from "./calls-search.js";
import { callColumns, markColumn, nameOfColumn } from "./columns.js";
import { Conditions, describeConditions } from "./conditions.js";
import { tableRequest, useCallPages } from "./use-call-pages.js";
import { CallsDialogs } from "./calls-dialogs.js";
import type { CallsDialog } from "./calls-view.js";
import { Facets } from "./facets/facets.js";
import { CallsHistogram } from "./histogram/histogram.js";
import { useNewerCalls } from "./use-newer-calls.js";
import type { PagesState } from "./call-pages.js";
import { RowAtTop } from "./time-rail/row-at-top.js";
import { TimeRail } from "./time-rail/time-rail.js";
import { CallsSummary } from "./calls-summary.js";
import { NoCalls } from "./no-calls.js";
import { ActionDialog } from "./actions/action-dialog.js";
import { isChosen, readChosen, chosenSelection, toggled, writeChosen } from "./actions/chosen.js";
import type { Action, Chosen } from "./actions/chosen.js";
import { ChosenBar } from "./actions/chosen-bar.js";
import { useQueryClient } from "@tanstack/react-query";
import { callsCommands } from "./calls-commands.js";
import "./calls-screen.css";

/** What other conditions end. */
const nothingOpen = { at: undefined, t: undefined, chosen: undefined, act: undefined, dialog: undefined };

/** Rows that PageDown moves. */
const pageStep = 20;

/** Rows that are seen at a glance: there is no other time to go to. */
const fewRows = 40;

const timeOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Date.parse(text));

/** The calls of a project: a table of any length, by conditions that the address has. */
export function CallsScreen() {
  const { entity, project } = useParams({ from: "/$entity/$project/calls" });
  const { at, t, chosen: chosenText, act, dialog, ...search } = useSearch({ from: "/$entity/$project/calls" });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from: "/$entity/$project/calls" });
  const { pages, openedAt, state } = useCallPages(projectId, search);
  const [isLive, setLive] = useState(true);
  const [atEnd, setAtEnd] = useState(false);
  const textField = useRef<HTMLInputElement>(null);
  // Under another order than time, new calls have no place at its beginning.
  useNewerCalls({ pages, projectId, search }, isLive && search.sort === undefined);

  // Where the table began, which is not its first row any more once others came before it.
  const begun = state.count > 0 ? state.prepended : -1;
  const current = at === undefined ? begun : pages.indexOf(at);
  const setCurrent = (index: number) => {
    const call = pages.row(Math.max(0, Math.min(state.count - 1, index)));
    if (call !== undefined) void navigate({ search: (given) => ({ ...given, at: call.id }), replace: true });
  };
  const change = (by: Partial<CallsSearch>) => {
    void navigate({ search: (given) => ({ ...given, ...by, ...nothingOpen }) });
  };
  const ask = (about: CallsDialog) => void navigate({ search: (given) => ({ ...given, dialog: about }) });
  const chosen = useMemo(() => readChosen(chosenText), [chosenText]);
  const choose = useCallback(
    (now: Chosen) => {
      void navigate({ search: (given) => ({ ...given, chosen: writeChosen(now), act: undefined }), replace: true });
    },
    [navigate],
  );
  const toggle = useCallback(
    (id: string) => {
      const now = toggled(chosen, id);
      if (now === undefined) showNotice("A hundred calls are chosen: * chooses all that match");
      else choose(now);
    },
    [chosen, choose],
  );
  const hasChosen = chosen === "all" || chosen.length > 0;
  const client = useQueryClient();
  const show = (by: Partial<CallsSearch>) => {
    void navigate({ search: (given) => ({ ...given, ...by }) });
  };
  const open = (index: number) => {
    const call = pages.row(index);
    if (call !== undefined) {
      void navigate({ to: "/$entity/$project/calls/$callId", params: { entity, project, callId: call.id }, search });
    }
  };
  /** Without chosen calls, the one under the cursor is. */
  const begin = (action: Action) => {
    const id = pages.row(current)?.id;
    if (!hasChosen && id === undefined) return;
    const now = hasChosen ? chosen : [id ?? ""];
    void navigate({ search: (given) => ({ ...given, chosen: writeChosen(now), act: action }) });
  };
  const [first, second] = chosen === "all" ? [] : chosen;
  const compare =
    first === undefined || second === undefined || chosen.length !== 2
      ? undefined
      : () =>
          void navigate({
            to: "/$entity/$project/compare",
            params: { entity, project },
            search: { a: first, b: second },
          });
  const close = () =>
    void navigate({ search: (given) => ({ ...given, act: undefined, dialog: undefined }), replace: true });
  const jump = (to: "first" | "last") => {
    setAtEnd(to === "last");
    void navigate({ search: (given) => ({ ...given, at: undefined, t: undefined }), replace: true });
    void pages.jump(to).then(() => to === "last" && setCurrent(pages.state().count - 1));
  };
  const [top] = useState(() => new RowAtTop());
  const seek = (time: number) => {
    setAtEnd(false);
    const begin = new Date(time).toISOString();
    void navigate({ search: (given) => ({ ...given, at: undefined, t: begin }), replace: true });
    void pages.jump({ at_time: begin });
  };
  const isFresh = state.generation === 0;
  useEffect(() => {
    if (t !== undefined && isFresh) void pages.jump({ at_time: t });
    // Where the address begins; a time that is chosen later is gone to at once.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [pages]);
  const last = describeConditions(search).at(-1);
  const hasRows = state.count > 0;
  const canAct = hasRows || hasChosen;
  const look = state.searchedTo === undefined ? undefined : () => (state.loading ? pages.stop() : pages.goOn());
  useCommands({ scope: "Calls" }, callsCommands, {
    next: hasRows ? () => setCurrent(current + 1) : undefined,
    previous: hasRows ? () => setCurrent(current - 1) : undefined,
    pageDown: hasRows ? () => setCurrent(current + pageStep) : undefined,
    pageUp: hasRows ? () => setCurrent(current - pageStep) : undefined,
    open: current < 0 ? undefined : () => open(current),
    first: () => jump("first"),
    last: hasRows ? () => jump("last") : undefined,
    look,
    text: () => textField.current?.focus(),
    condition: () => ask("condition"),
    facets: () => show({ panel: search.panel === undefined ? "facets" : undefined }),
    drop: last && (() => change(last.without)),
    order: () => change({ sort: search.sort === undefined ? "latency" : undefined }),
    choose: current < 0 ? undefined : () => toggle(pages.row(current)?.id ?? ""),
    chooseAll: hasRows ? () => choose("all") : undefined,
    chooseNone: hasChosen ? () => choose([]) : undefined,
    dataset: canAct ? () => begin("dataset") : undefined,
    queue: canAct ? () => begin("queue") : undefined,
    feedback: canAct ? () => begin("feedback") : undefined,
    train: canAct ? () => begin("train") : undefined,
    compare,
    delete: canAct ? () => begin("delete") : undefined,
    curl: () =>
      copyText(asCurl(serviceUrl(), "/calls/page", tableRequest(projectId, search, openedAt)), "the request as curl"),
    columns: () => ask("columns"),
    views: () => ask("views"),
    live: search.sort === undefined ? () => setLive(!isLive) : undefined,
  });

  const paths = columnPaths(search);
  // Of whose day the date is left out.
  const [now] = useState(() => Date.now());
  const isVisible = useIsVisible();
  const isNarrow = useMedia("(max-width: 640px)");
  const isSearched = search.text !== undefined;
  const pathKey = paths.join(",");
  const pinnedKey = pinnedColumns(search).join(",");
  const { widths } = search;
  const columns = useMemo(
    () => [
      markColumn((id) => isChosen(chosen, id), toggle),
      ...callColumns(pathKey.split(",").filter(Boolean), {
        now,
        isNarrow,
        isSearched,
        pinned: pinnedKey.split(","),
        widths: readWidths(widths),
      }),
    ],
    [pathKey, pinnedKey, widths, now, isNarrow, isSearched, chosen, toggle],
  );
  const resize = (id: string, width: number | undefined) => {
    const changed = readWidths(widths);
    if (width === undefined) changed.delete(nameOfColumn(id));
    else changed.set(nameOfColumn(id), width);
    void navigate({ search: (given) => ({ ...given, widths: writeWidths(changed) }), replace: true });
  };
  const want = useCallback((first: number, end: number) => pages.want(first, end), [pages]);
  const row = useCallback((index: number) => pages.row(index), [pages]);
  // Before they are asked for, too.
  const areRowsRead = state.generation > 0 || state.error !== undefined;
  const isEmpty = !hasRows && !state.loading && state.error === undefined && !state.hasAfter;
  return (
    <main className="calls">
      <h1 className="unseen">Calls of {projectId}</h1>
      <div className="calls-bar">
        <Conditions
          projectId={projectId}
          search={search}
          onChange={change}
          names={namesOf(pages)}
          textField={textField}
          onAdd={() => ask("condition")}
        />
        <CallsSummary
          onViews={() => ask("views")}
          onFacets={() => show({ panel: search.panel === undefined ? "facets" : undefined })}
          state={state}
          isLive={isLive && search.sort === undefined}
          search={search}
        />
      </div>
      <CallsHistogram
        projectId={projectId}
        search={search}
        openedAt={openedAt}
        isLive={isLive && isVisible}
        isOn={areRowsRead}
        onChange={change}
      />
      {hasChosen && (
        <ChosenBar
          chosen={chosen}
          onAct={begin}
          onCompare={compare}
          onAll={() => choose("all")}
          onClear={() => choose([])}
        />
      )}
      {state.newer > 0 && (
        <button className="calls-newer" onClick={() => jump("first")}>
          {formatCount(state.newer)}
          {state.newerIsLeast && " or more"} new ↑ <kbd>g</kbd> <kbd>g</kbd>
        </button>
      )}
      {state.error !== undefined && (
        <div className="calls-note">
          <Failure what="The calls cannot be read." error={state.error} onRetry={() => pages.retry()} />
        </div>
      )}
      {state.searchedTo !== undefined && (
        <p className="calls-note" role="status">
          Looked {state.isBackwards ? "from the oldest call up" : "back"} to{" "}
          <time>{formatMoment(Date.parse(state.searchedTo), now)}</time>, {formatCount(state.count)} found
          {state.loading ? " so far; looking further…" : "."}{" "}
          <button onClick={look}>
            {state.loading ? "Stop" : "Look further"} <kbd>m</kbd>
          </button>
        </p>
      )}
      <div className="calls-body">
        {search.panel === "facets" && (
          <Facets
            projectId={projectId}
            search={search}
            openedAt={openedAt}
            isOn={areRowsRead}
            onChange={change}
            onClose={() => show({ panel: undefined })}
          />
        )}
        {isEmpty ? (
          <NoCalls projectId={projectId} search={search} onChange={change} />
        ) : (
          <VirtualGrid
            label="Calls"
            columns={columns}
            count={state.count}
            row={row}
            onWant={want}
            current={current}
            onCurrent={setCurrent}
            onOpen={open}
            prepended={state.prepended}
            generation={state.generation}
            atEnd={atEnd}
            total={state.total?.exact === true ? state.total.value : undefined}
            onTop={top.set}
            onResize={resize}
          />
        )}
        {areRowsRead &&
          !isEmpty &&
          search.sort === undefined &&
          (state.hasAfter || state.hasBefore || state.count > fewRows) && (
            <TimeRail
              projectId={projectId}
              search={search}
              openedAt={openedAt}
              isLive={isLive && isVisible}
              top={top}
              isAtNewest={!state.hasBefore}
              // A list that has become shorter is about to be scrolled to its end.
              timeOf={(index) => timeOf(pages.row(Math.min(index, state.count - 1))?.started_at)}
              onTime={seek}
            />
          )}
      </div>
      {!hasRows && state.loading && state.searchedTo === undefined && <Waiting what="Loading calls" />}
      {act !== undefined && hasChosen && (
        <ActionDialog
          key={act}
          action={act}
          projectId={projectId}
          selection={chosenSelection(chosen, search, openedAt)}
          order={orderOf(search)}
          paths={paths}
          onDone={() => {
            if (act === "delete") void pages.jump("first");
            void client.invalidateQueries({ predicate: ({ queryKey: [name] }) => String(name).startsWith("calls-") });
          }}
          onClose={close}
        />
      )}
      {dialog !== undefined && (
        <CallsDialogs
          dialog={dialog}
          projectId={projectId}
          search={search}
          openedAt={openedAt}
          onChange={change}
          onOpen={(view) => void navigate({ search: view })}
          onClose={close}
        />
      )}
    </main>
  );
}

/** Of the rows at the beginning: enough to choose from. */
function namesOf(pages: { row: (index: number) => { name?: string } | undefined; state: () => PagesState }): string[] {
  const names = new Set<string>();
  for (let index = 0; index < Math.min(200, pages.state().count); index++) {
    const name = pages.row(index)?.name;
    if (name !== undefined) names.add(name);
  }
  return [...names].toSorted();
}
