import { Link, useNavigate, useParams, useSearch } from "../router/routing.js";
import { useCallback, useMemo, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { asCurl } from "../data/as-curl.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { VirtualGrid } from "../grid/virtual-grid.js";
import type { Column } from "../grid/virtual-grid.js";
import { serviceUrl } from "../session/service-url.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount } from "../ui/format.js";
import { copyText } from "../ui/notice.js";
import { useMedia } from "../ui/use-media.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { DeleteQueueDialog } from "./delete-queue-dialog.js";
import { nameOf } from "./fields/field.js";
import { NewQueueDialog } from "./new-queue-dialog.js";
import { Progress } from "./progress.js";
import { queuesCommands } from "./queue-commands.js";
import { mostQueues, queuesRequest, useQueues } from "./use-queues.js";
import type { QueueRow } from "./use-queues.js";
import "./queue.css";

const from = "/$entity/$project/queues";

/** The annotation queues of a project. */
export function QueuesScreen() {
  const { entity, project } = useParams({ from });
  const { at, dialog } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from });
  const readOnly = useReadOnlyReason();
  const { data: rows, error, refetch } = useQueues(projectId);
  const [deleting, setDeleting] = useState<QueueRow>();
  const count = rows?.length ?? 0;
  const found = rows?.findIndex(({ queue }) => queue.id === at) ?? -1;
  const current = found >= 0 ? found : count > 0 ? 0 : -1;
  const setCurrent = (index: number) => {
    const id = rows?.[Math.max(0, Math.min(count - 1, index))]?.queue.id;
    void navigate({ search: (given) => ({ ...given, at: id }), replace: true });
  };
  const open = (index: number) => {
    const id = rows?.[index]?.queue.id;
    if (id !== undefined)
      void navigate({ to: "/$entity/$project/queues/$queueId", params: { entity, project, queueId: id } });
  };
  const create = () => void navigate({ search: (given) => ({ ...given, dialog: "new" as const }) });
  const close = () => void navigate({ search: (given) => ({ ...given, dialog: undefined }), replace: true });
  const any = current >= 0;
  useCommands({ scope: "Queues" }, queuesCommands, {
    next: any ? () => setCurrent(current + 1) : undefined,
    previous: any ? () => setCurrent(current - 1) : undefined,
    open: any ? () => open(current) : undefined,
    create,
    delete: any && readOnly === undefined ? () => setDeleting(rows?.[current]) : undefined,
    curl: () =>
      copyText(asCurl(serviceUrl(), "/annotation_queues/query", queuesRequest(projectId)), "the request as curl"),
  });
  const isNarrow = useMedia("(max-width: 640px)");
  const columns = useMemo(() => columnsOf(entity, project, isNarrow), [entity, project, isNarrow]);
  const row = useCallback((index: number) => rows?.[index], [rows]);
  return (
    <main className="queues">
      <h1 className="unseen">Annotation queues of {projectId}</h1>
      <div className="queues-bar">
        <button className="primary" disabled={readOnly !== undefined} title={readOnly} onClick={create}>
          Make a queue <kbd>n</kbd>
        </button>
        <span className="quiet" role="status">
          {rows !== undefined &&
            count > 0 &&
            (count === mostQueues ? `the newest ${counted(count, "queue")}` : counted(count, "queue"))}
        </span>
      </div>
      {rows === undefined && error === null && <Waiting what="Loading queues" />}
      {error !== null && (
        <div className="queues-note">
          <Failure what="The queues cannot be read." error={error} onRetry={() => refetch()} />
        </div>
      )}
      {rows !== undefined && count === 0 && <Empty projectId={projectId} />}
      {count > 0 && (
        <VirtualGrid
          label="Annotation queues"
          columns={columns}
          count={count}
          row={row}
          current={current}
          onCurrent={setCurrent}
          onOpen={open}
          total={count}
        />
      )}
      {dialog === "new" && (
        <NewQueueDialog
          projectId={projectId}
          onMade={(id) => void refetch().then(() => navigate({ search: { at: id }, replace: true }))}
          onClose={close}
        />
      )}
      {deleting !== undefined && (
        <DeleteQueueDialog
          projectId={projectId}
          row={deleting}
          onDeleted={() => void refetch()}
          onClose={() => setDeleting(undefined)}
        />
      )}
    </main>
  );
}

function Empty({ projectId }: { projectId: string }) {
  return (
    <div className="queues-note prose">
      <p>
        <span className="mono given">{projectId}</span> has no annotation queues that your key may read.
      </p>
      <p>
        A queue is a list of calls that people judge one by one, by keys alone: each annotator gets the next call that
        nobody else has. Make one here, then choose calls on the screen <em>Calls</em> and press <kbd>q</kbd>.{" "}
        <a href={`${serviceUrl()}/docs/guides/console-annotate/`}>How to annotate</a>
      </p>
    </div>
  );
}

function columnsOf(entity: string, project: string, isNarrow: boolean): Column<QueueRow>[] {
  return [
    {
      id: "name",
      title: "queue",
      width: isNarrow ? 140 : 240,
      grows: true,
      cell: ({ queue }) => (
        <Link
          to="/$entity/$project/queues/$queueId"
          params={{ entity, project, queueId: queue.id }}
          className="given"
          title={queue.name}
          tabIndex={-1}
        >
          {visibleLine(queue.name)}
        </Link>
      ),
    },
    {
      id: "progress",
      title: "done",
      width: isNarrow ? 120 : 220,
      cell: ({ stats }) => stats && <Progress done={stats.completed_items} total={stats.total_items} />,
    },
    ...(isNarrow
      ? []
      : ([
          {
            id: "fields",
            title: "asks for",
            width: 240,
            cell: ({ queue }) => (
              <span className="given">{queue.scorer_refs.map((ref) => visibleLine(nameOf(ref))).join(", ")}</span>
            ),
          },
          {
            id: "annotators",
            title: "who did how many",
            width: 260,
            cell: ({ stats }) =>
              stats?.annotators?.map(({ user_id, name, completed, skipped }, index) => (
                <span key={user_id}>
                  {index > 0 && ", "}
                  <span className="given">{visibleLine(name)}</span> {formatCount(completed + skipped)}
                </span>
              )),
          },
        ] satisfies Column<QueueRow>[])),
    {
      id: "created",
      title: "made",
      width: isNarrow ? 84 : 100,
      align: "end",
      cell: ({ queue }) => <Ago time={queue.created_at} />,
    },
  ];
}
