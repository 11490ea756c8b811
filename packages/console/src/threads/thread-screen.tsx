import { Link, useNavigate, useParams, useSearch } from "../router/routing.js";
import { useEffect, useMemo, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { linkToProject } from "../project/project-link.js";
import { serviceUrl } from "../session/service-url.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCost } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { threadCommands } from "./threads-commands.js";
import { Turn } from "./turn.js";
import { useThreadTail } from "./use-thread-tail.js";
import { turnsRequest, useTurnFigures, useTurns } from "./use-turns.js";
import "./threads.css";

/** A thread as a conversation. */
export function ThreadScreen() {
  const from = "/$entity/$project/threads/$threadId";
  const { entity, project, threadId } = useParams({ from });
  const { turn } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from });
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useTurns(projectId, threadId);
  const turns = useMemo(() => data?.pages.flatMap(({ calls }) => calls) ?? [], [data]);
  const ids = useMemo(() => turns.map(({ id }) => id), [turns]);
  const { figures, error: figuresError } = useTurnFigures(projectId, ids);
  useThreadTail(projectId, threadId, data?.pages[0]?.seq);
  const current = Math.max(0, turn === undefined ? 0 : ids.indexOf(turn));
  const [isToLast, setToLast] = useState(false);
  const setCurrent = (index: number) => {
    setToLast(false);
    const id = ids[Math.max(0, Math.min(ids.length - 1, index))];
    void navigate({ search: { turn: id }, replace: true });
    if (index >= ids.length && hasNextPage && !isFetchingNextPage) void fetchNextPage();
  };
  // All turns before it are read on the way.
  useEffect(() => {
    if (!isToLast || isFetchingNextPage) return;
    if (hasNextPage && error === null) void fetchNextPage();
    else if (hasNextPage) setToLast(false);
    else setCurrent(ids.length - 1);
    // oxlint-disable-next-line react/exhaustive-deps -- each page is a step
  }, [isToLast, isFetchingNextPage, hasNextPage, error, ids]);
  const failed = ids.findIndex((id, index) => index > current && (figures.get(id)?.errors ?? 0) > 0);
  const callsLink = { ...linkToProject(projectId), search: { thread: threadId } };
  const any = ids.length > 0;
  const open = ids[current];
  useCommands({ scope: "Thread" }, threadCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    first: any ? () => setCurrent(0) : undefined,
    last: any ? () => setToLast(true) : undefined,
    nextError: failed < 0 ? undefined : () => setCurrent(failed),
    open:
      open === undefined
        ? undefined
        : () =>
            void navigate({
              to: "/$entity/$project/calls/$callId",
              params: { entity, project, callId: open },
              search: {},
            }),
    calls: () => void navigate(callsLink),
    curl: () => copyText(asCurl(serviceUrl(), "/calls/page", turnsRequest(projectId, threadId)), "the request as curl"),
    back: () =>
      void navigate({ to: "/$entity/$project/threads", params: { entity, project }, search: { at: threadId } }),
  });
  const sums = sum([...figures.values()].map(({ cost }) => cost));
  return (
    <main className="thread">
      <header className="thread-head">
        <Link to="/$entity/$project/threads" params={{ entity, project }} search={{ at: threadId }}>
          ← threads
        </Link>
        <h1 className="given">{visibleLine(threadId)}</h1>
        <span className="quiet" role="status">
          {data !== undefined && `${counted(ids.length, "turn")}${hasNextPage ? " and more" : ""}`}
          {sums !== undefined && ` · cost ${formatCost(sums)}${hasNextPage ? " so far" : ""}`}
        </span>
        <Link {...callsLink}>
          All calls <kbd>c</kbd>
        </Link>
      </header>
      {data === undefined && error === null && <Waiting what="Loading the thread" />}
      {error !== null && (
        <Failure
          what={data === undefined ? "The thread cannot be read." : "The thread is as it was."}
          error={error}
          onRetry={() => refetch()}
        />
      )}
      {figuresError !== null && <Failure what="Figures of the turns cannot be read." error={figuresError} />}
      {data !== undefined && !any && (
        <div className="prose">
          <p>
            <span className="mono given">{projectId}</span> has no turns of this thread that your key may read: no call
            has its own id as <code>turn_id</code>. <Link {...callsLink}>Look for other calls of the thread</Link>
          </p>
        </div>
      )}
      <ol className="turns">
        {turns.map((call, index) => (
          <Turn
            key={call.id}
            projectId={projectId}
            call={call}
            figures={figures.get(call.id)}
            isCurrent={index === current}
          />
        ))}
      </ol>
      {hasNextPage && (
        <p>
          <button disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Later turns
          </button>
        </p>
      )}
    </main>
  );
}

/** Undefined where nothing has a cost. */
function sum(costs: readonly (number | undefined)[]): number | undefined {
  const known = costs.filter((cost) => cost !== undefined);
  return known.length === 0 ? undefined : known.reduce((a, b) => a + b, 0);
}
