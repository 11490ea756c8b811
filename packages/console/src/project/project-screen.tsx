import { useParams } from "@tanstack/react-router";
import { useProjects } from "../data/use-projects.js";
import { FirstTrace } from "../first-trace/first-trace.js";
import { Failure } from "../ui/failure.js";
import { counted } from "../ui/format.js";
import { Waiting } from "../ui/waiting.js";
import "./project-screen.css";

/** A project: what it has, and how to send calls to it. */
export function ProjectScreen() {
  const { entity = "", project = "" } = useParams({ strict: false });
  const projectId = `${entity}/${project}`;
  const { data, error, refetch } = useProjects();
  const found = data?.find(({ project_id }) => project_id === projectId);
  return (
    <main className="project">
      <h1 className="given">{projectId}</h1>
      {data === undefined && error === null && <Waiting what="Loading" />}
      {error !== null && <Failure what="The project cannot be read." error={error} onRetry={() => void refetch()} />}
      {data !== undefined && (
        <p role="status">
          {found === undefined
            ? "There is no such project that your key may read. The first call makes it."
            : counted(found.call_count, "call")}
        </p>
      )}
      {data !== undefined && <FirstTrace projectId={projectId} />}
    </main>
  );
}
