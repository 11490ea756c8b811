import { Link, useNavigate, useParams, useSearch } from "../router/routing.js";
import { useEffect, useState } from "react";
import { useCommands } from "../commands/use-commands.js";
import { useCallPages } from "../calls/use-call-pages.js";
import { linkToProject } from "../project/project-link.js";
import { asCurl } from "../data/as-curl.js";
import { useReadOnlyReason } from "../data/use-read-only.js";
import { serviceUrl } from "../session/service-url.js";
import { copyText } from "../ui/notice.js";
import { Failure } from "../ui/failure.js";
import { Waiting } from "../ui/waiting.js";
import { ActionDialog } from "../calls/actions/action-dialog.js";
import type { Action } from "../calls/actions/chosen.js";
import { columnPaths } from "../calls/calls-search.js";
import { useQueryClient } from "@tanstack/react-query";
import { CallHead } from "./call-head.js";
import { CompareWithDialog } from "./compare-with/compare-with-dialog.js";
import { ShareDialog } from "./share/share-dialog.js";
import { Trace } from "./trace.js";
import { callKey, outlineKey, useCall } from "./use-call.js";
import { callCommands } from "./call-commands.js";
import "./call-screen.css";

/** A call in its trace. */
export function CallScreen() {
  const from = "/$entity/$project/calls/$callId";
  const { entity, project, callId } = useParams({ from });
  const { span, show, act, find, words, zoom, ...search } = useSearch({ from });
  const projectId = `${entity}/${project}`;
  const navigate = useNavigate({ from });
  const { pages, state } = useCallPages(projectId, search);
  const index = pages.indexOf(callId);
  const call = useCall(projectId, callId);
  const readOnly = useReadOnlyReason();
  const [sharing, setSharing] = useState(false);
  const [comparing, setComparing] = useState(false);
  // The call under the cursor of the tree, as what is shown next to it.
  const selected = useCall(projectId, span ?? callId).data ?? undefined;
  const compare = selected === undefined ? undefined : () => setComparing(true);
  // From the table its trace is known before the call was read.
  const traceId = call.data?.trace_id ?? pages.row(index)?.trace_id;
  const share = traceId === undefined || readOnly !== undefined ? undefined : () => setSharing(true);

  // Neighbours are there when they are asked for; from a link, there is no table around the call.
  useEffect(() => {
    if (index >= 0) pages.want(index, index + 1);
  }, [pages, index, state.count]);
  const open = (at: number) => {
    const id = index < 0 ? undefined : pages.row(at)?.id;
    if (id === undefined) return undefined;
    return () => void navigate({ to: from, params: { entity, project, callId: id }, search, replace: true });
  };
  const begin = (action: Action) => void navigate({ search: (given) => ({ ...given, act: action }) });
  const end = () => void navigate({ search: (given) => ({ ...given, act: undefined }), replace: true });
  const client = useQueryClient();
  useCommands({ scope: "Call" }, callCommands, {
    previous: open(index - 1),
    next: open(index + 1),
    dataset: () => begin("dataset"),
    queue: () => begin("queue"),
    delete: () => begin("delete"),
    curl: () =>
      copyText(
        asCurl(serviceUrl(), "/call/read", { project_id: projectId, id: span ?? callId }),
        "the request as curl",
      ),
    compare,
    share,
    back: () =>
      void navigate({ to: "/$entity/$project/calls", params: { entity, project }, search: { ...search, at: callId } }),
  });

  const select = (id: string) => {
    void navigate({ search: (given) => ({ ...given, span: id === callId ? undefined : id }), replace: true });
  };
  const back = (
    <Link to="/$entity/$project/calls" params={{ entity, project }} search={{ ...search, at: callId }}>
      ← calls
    </Link>
  );
  const known = call.data ?? pages.row(index);
  return (
    <main className="call">
      {known !== undefined && (
        <CallHead
          call={known}
          onAct={begin}
          onCompare={compare}
          onShare={share}
          place={index < 0 ? undefined : index}
          total={state.total}
          back={back}
        />
      )}
      {call.data === undefined && call.error === null && <Waiting what="Loading the call" />}
      {call.error !== null && (
        <div className="call-note">
          <Failure what="The call cannot be read." error={call.error} onRetry={() => call.refetch()} />
        </div>
      )}
      {call.data === null && (
        <div className="call-note">
          <h1>There is no such call</h1>
          <p className="prose">
            <span className="mono given">{projectId}</span> has no call <span className="mono given">{callId}</span>. It
            was deleted, is older than the project keeps calls, or is one of another project.
          </p>
          <button onClick={() => void navigate({ ...linkToProject(projectId) })}>All calls of the project</button>
        </div>
      )}
      {call.data !== null && traceId !== undefined && (
        <Trace
          key={traceId}
          projectId={projectId}
          traceId={traceId}
          selected={span ?? callId}
          onSelect={select}
          find={find}
          onFind={(text) => void navigate({ search: (given) => ({ ...given, find: text }) })}
          words={words}
          onWords={(text) => void navigate({ search: (given) => ({ ...given, words: text }), replace: true })}
          zoom={zoom}
          onZoom={(part) => void navigate({ search: (given) => ({ ...given, zoom: part }), replace: true })}
          show={show ?? "messages"}
          onShow={(now) =>
            void navigate({
              search: (given) => ({ ...given, show: now === "messages" ? undefined : now }),
              replace: true,
            })
          }
        />
      )}
      {act !== undefined && (
        <ActionDialog
          key={act}
          action={act}
          projectId={projectId}
          selection={{ filter: { call_ids: [span ?? callId] } }}
          order={[]}
          paths={columnPaths(search)}
          onDone={() => {
            if (traceId !== undefined) void client.invalidateQueries({ queryKey: outlineKey(projectId, traceId) });
            void client.invalidateQueries({ queryKey: callKey(projectId, span ?? callId) });
          }}
          onClose={end}
        />
      )}
      {comparing && selected !== undefined && (
        <CompareWithDialog
          key={selected.id}
          projectId={projectId}
          call={selected}
          onChoose={(b) =>
            void navigate({
              to: "/$entity/$project/compare",
              params: { entity, project },
              search: { a: selected.id, b },
            })
          }
          onClose={() => setComparing(false)}
        />
      )}
      {sharing && traceId !== undefined && (
        <ShareDialog projectId={projectId} traceId={traceId} onClose={() => setSharing(false)} />
      )}
    </main>
  );
}
