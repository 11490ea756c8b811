import { Link, useNavigate, useParams, useSearch } from "../router/routing.js";
import { useCallback, useMemo } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import type { Column } from "../grid/virtual-grid.js";
import { serviceUrl } from "../session/service-url.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCost, formatCount, formatDuration } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { useMedia } from "../ui/use-media.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { threadsCommands } from "./threads-commands.js";
import { readThreadsSearch, threadOrders } from "./threads-search.js";
import type { Thread, ThreadOrder, threadPeriods, ThreadsSearch } from "./threads-search.js";
import { mostThreads, threadsRequest, useThreads } from "./use-threads.js";
import "./threads.css";

const orderTitles: Record<ThreadOrder, string> = {
  newest: "newest first",
  turns: "most turns first",
  slowest: "slowest turns first",
  cost: "dearest first",
};
const periodTitles: Record<keyof typeof threadPeriods, string> = {
  "24h": "of the last 24 hours",
  "7d": "of the last 7 days",
  "30d": "of the last 30 days",
};

/** The conversations of a project. */
export function ThreadsScreen() {
  const from = "/$entity/$project/threads";
  const { entity, project } = useParams({ from });
  const { at, ...search } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from });
  const { threads, error, figuresError, isOrdered, refetch } = useThreads(projectId, search);
  const count = threads?.length ?? 0;
  const found = threads?.findIndex(({ thread_id }) => thread_id === at) ?? -1;
  const current = found >= 0 ? found : count > 0 ? 0 : -1;
  const setCurrent = (index: number) => {
    const id = threads?.[Math.max(0, Math.min(count - 1, index))]?.thread_id;
    void navigate({ search: (given) => ({ ...given, at: id }), replace: true });
  };
  const change = (by: ThreadsSearch) => void navigate({ search: (given) => ({ ...given, ...by, at: undefined }) });
  const open = (index: number) => {
    const id = threads?.[index]?.thread_id;
    if (id !== undefined)
      void navigate({ to: "/$entity/$project/threads/$threadId", params: { entity, project, threadId: id } });
  };
  const { sort = "newest", since } = search;
  const any = current >= 0;
  useCommands({ scope: "Threads" }, threadsCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    first: any ? () => setCurrent(0) : undefined,
    last: any ? () => setCurrent(count - 1) : undefined,
    open: any ? () => open(current) : undefined,
    order: () => {
      const next = threadOrders[(threadOrders.indexOf(sort) + 1) % threadOrders.length];
      change({ sort: next === "newest" ? undefined : next });
    },
    curl: () =>
      copyText(
        asCurl(serviceUrl(), "/threads/stream_query", threadsRequest(projectId, search, Date.now())),
        "the request as curl",
      ),
  });
  const isNarrow = useMedia("(max-width: 640px)");
  const columns = useMemo(() => columnsOf(entity, project, isNarrow), [entity, project, isNarrow]);
  const row = useCallback((index: number) => threads?.[index], [threads]);
  return (
    <main className="threads">
      <h1 className="unseen">Threads of {projectId}</h1>
      <div className="threads-bar">
        <label>
          Threads{" "}
          <select
            aria-label="Time"
            value={since ?? ""}
            onChange={({ target }) => change({ since: undefined, ...readThreadsSearch({ since: target.value }) })}
          >
            <option value="">of all time</option>
            {Object.entries(periodTitles).map(([period, title]) => (
              <option key={period} value={period}>
                {title}
              </option>
            ))}
          </select>
        </label>
        <select
          aria-label="Order"
          value={sort}
          onChange={({ target }) => change({ sort: undefined, ...readThreadsSearch({ sort: target.value }) })}
        >
          {threadOrders.map((order) => (
            <option key={order} value={order}>
              {orderTitles[order]}
            </option>
          ))}
        </select>
        <span className="quiet" role="status">
          {threads !== undefined &&
            (count === mostThreads ? `the first ${counted(count, "thread")}` : counted(count, "thread"))}
          {!isOrdered && " · adding up costs…"}
        </span>
      </div>
      {threads === undefined && error === null && <Waiting what="Loading threads" />}
      {error !== null && (
        <div className="threads-note">
          <Failure what="The threads cannot be read." error={error} onRetry={refetch} />
        </div>
      )}
      {figuresError !== null && (
        <div className="threads-note">
          <Failure what="Costs and failures cannot be added up." error={figuresError} />
        </div>
      )}
      {threads !== undefined && count === 0 && <Empty projectId={projectId} hasPeriod={since !== undefined} />}
      {count > 0 && (
        <VirtualGrid
          label="Threads"
          columns={columns}
          count={count}
          row={row}
          current={current}
          onCurrent={setCurrent}
          onOpen={open}
          total={count}
        />
      )}
    </main>
  );
}

function Empty({ projectId, hasPeriod }: { projectId: string; hasPeriod: boolean }) {
  return (
    <div className="threads-note prose">
      <p>
        <span className="mono given">{projectId}</span> has no threads{hasPeriod && " in this time"} that your key may
        read.
      </p>
      <p>
        A thread is a conversation: calls with one <code>thread_id</code>, of which each turn has its own id as{" "}
        <code>turn_id</code>. In Python <code>with weave.thread():</code> around the turns does that. It is listed once
        a turn has ended. <a href={`${serviceUrl()}/docs/guides/threads/`}>How to record threads</a>
      </p>
    </div>
  );
}

function columnsOf(entity: string, project: string, isNarrow: boolean): Column<Thread>[] {
  const figure = (id: string, title: string, width: number, cell: Column<Thread>["cell"]): Column<Thread> => ({
    id,
    title,
    width,
    align: "end",
    cell,
  });
  const duration = (ms: number | null | undefined) =>
    ms === null || ms === undefined ? undefined : formatDuration(ms);
  return [
    {
      id: "thread",
      title: "thread",
      width: isNarrow ? 110 : 280,
      grows: true,
      cell: ({ thread_id }) => (
        <Link
          to="/$entity/$project/threads/$threadId"
          params={{ entity, project, threadId: thread_id }}
          className="given"
          title={thread_id}
          tabIndex={-1}
        >
          {visibleLine(thread_id)}
        </Link>
      ),
    },
    figure("turns", "turns", isNarrow ? 52 : 64, ({ turn_count }) => formatCount(turn_count)),
    figure("updated", "last turn", isNarrow ? 84 : 96, ({ last_updated }) => <Ago time={last_updated} />),
    ...(isNarrow
      ? []
      : [
          figure("started", "began", 96, ({ start_time }) => <Ago time={start_time} />),
          figure("p50", "median turn", 96, ({ p50_turn_duration_ms }) => duration(p50_turn_duration_ms)),
          figure("p99", "slow turns", 96, ({ p99_turn_duration_ms }) => duration(p99_turn_duration_ms)),
          figure("calls", "calls", 80, ({ figures }) => figures && formatCount(figures.calls)),
        ]),
    figure("errors", "failed", isNarrow ? 56 : 64, ({ figures }) =>
      figures !== undefined && figures.errors > 0 ? (
        <span className="is-error">✗ {formatCount(figures.errors)}</span>
      ) : undefined,
    ),
    ...(isNarrow
      ? []
      : [
          figure("tokens", "tokens", 88, ({ figures }) =>
            figures?.tokens === undefined ? undefined : formatCount(figures.tokens),
          ),
        ]),
    figure("cost", "cost", isNarrow ? 76 : 80, ({ figures }) =>
      figures?.cost === undefined ? undefined : <span title={String(figures.cost)}>{formatCost(figures.cost)}</span>,
    ),
  ];
}
