import { callsPage } from "@heddle/client/tracing";
import { useNavigate } from "../router/routing.js";
import { useEffect, useRef } from "react";
import { isEmpty, useProjects } from "../data/use-projects.js";
import { useMe } from "../data/use-me.js";
import { FirstTrace } from "../first-trace/first-trace.js";
import { linkToProject } from "../project/project-link.js";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { Waiting } from "../ui/waiting.js";
import { ProjectsTable } from "./projects-table.js";
import { RunningNow } from "./running-now.js";
import "./home-screen.css";

/** The projects of the key; until there is a call, how to send one. The first call that arrives is opened. */
export function HomeScreen() {
  const { data, error, refetch } = useProjects();
  const navigate = useNavigate();
  const session = useSession();
  const wasEmpty = useRef(false);
  const first = data?.find((project) => !isEmpty(project));
  useEffect(() => {
    if (data === undefined) return;
    if (wasEmpty.current && first !== undefined) {
      const { project_id } = first;
      const table = linkToProject(project_id);
      callsPage(session.connection, { project_id, limit: 1, select: ["trace_id"] }).then(
        ({ calls: [call] }) =>
          navigate(
            call === undefined
              ? table
              : { to: "/$entity/$project/calls/$callId", params: { ...table.params, callId: call.id } },
          ),
        () => navigate(table),
      );
    }
    wasEmpty.current = first === undefined;
  }, [data, first, navigate, session]);
  return (
    <main className="home">
      {data === undefined && error === null && <Waiting what="Loading projects" />}
      {data !== undefined &&
        (first === undefined ? (
          <Newcomer />
        ) : (
          <>
            <ProjectsTable projects={data} />
            <RunningNow projects={data} />
          </>
        ))}
      {error !== null && (
        <Failure
          what={data === undefined ? "The projects cannot be read." : "The list is old."}
          error={error}
          onRetry={() => refetch()}
        />
      )}
    </main>
  );
}

function Newcomer() {
  const me = useMe();
  if (me.error !== null)
    return <Failure what="Your key cannot be read." error={me.error} onRetry={() => me.refetch()} />;
  if (me.data === undefined) return <Waiting what="Loading" />;
  const { entity, role, projects } = me.data;
  const projectId = `${entity}/${projects?.[0] ?? "first"}`;
  return (
    <>
      <h1>Send the first call</h1>
      <p className="prose">
        No project that your key may read has a call yet. Each of these records one in{" "}
        <span className="mono given">{projectId}</span>. {projects === undefined && "The first call makes the project."}
      </p>
      {role === "read" && (
        <p className="prose is-error">✗ Your key may read only: send the call with one that may write.</p>
      )}
      <FirstTrace projectId={projectId} />
      <p role="status">
        <span className="is-running">●</span> Waiting for the first call. It opens by itself.
      </p>
    </>
  );
}
