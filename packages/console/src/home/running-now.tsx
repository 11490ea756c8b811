import { callsPage } from "@heddle/client/tracing";
import type { CallRow, ProjectSummary } from "@heddle/client/tracing";
import { useQueries } from "@tanstack/react-query";
import { Link } from "../router/routing.js";
import { Latency } from "../call-parts/status.js";
import { linkToProject } from "../project/project-link.js";
import { useSession } from "../session/session-context.js";
import { counted } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import "./running-now.css";

const refreshMs = 5000;
const [mostProjects, mostCalls] = [5, 10];

/** What began a trace and has not ended. */
const running = { $expr: { $eq: [{ $getField: "summary.weave.status" }, { $literal: "running" }] } };

type Running = CallRow & { projectId: string };

/** The newest traces that run, of the projects with the newest calls. */
export function RunningNow({ projects }: { projects: readonly ProjectSummary[] }) {
  const session = useSession();
  const active = projects.filter((project) => project.running > 0);
  const { calls, isComplete } = useQueries({
    queries: active.slice(0, mostProjects).map(({ project_id }) => ({
      queryKey: ["running", project_id],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const { calls: found } = await callsPage(
          session.connection,
          {
            project_id,
            filter: { trace_roots_only: true },
            query: running,
            select: ["name", "status", "latency_ms"],
            limit: mostCalls,
          },
          { signal },
        );
        return found.map((call): Running => ({ ...call, projectId: project_id }));
      },
      refetchInterval: refreshMs,
    })),
    combine: (results) => ({
      calls: results
        .flatMap(({ data }) => data ?? [])
        .toSorted((a, b) => (a.started_at < b.started_at ? 1 : -1))
        .slice(0, mostCalls),
      isComplete: results.every(({ data }) => data !== undefined),
    }),
  });
  // Of calls below another that has ended nothing is listed.
  if (calls.length === 0) return undefined;
  const others = active.length - mostProjects;
  return (
    <section aria-labelledby="running-now">
      <h2 id="running-now">Running now</h2>
      <ul className="running" aria-busy={!isComplete}>
        {calls.map((call) => (
          <li key={`${call.projectId} ${call.id}`}>
            <span className="is-running" aria-hidden>
              ●
            </span>
            <Link
              to="/$entity/$project/calls/$callId"
              params={{ ...linkToProject(call.projectId).params, callId: call.id }}
              className="given cut"
            >
              {visibleLine(call.name ?? call.id)}
            </Link>
            <span className="quiet given cut">{call.projectId}</span>
            <Latency call={call} />
          </li>
        ))}
      </ul>
      {others > 0 && <p className="quiet">and calls in {counted(others, "more project")}</p>}
    </section>
  );
}
