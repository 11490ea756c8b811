import { callsAggregate, callsPage } from "@heddle/client/tracing";
import type { CallsFilter } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { Link } from "../router/routing.js";
import { Latency, Status } from "../call-parts/status.js";
import { linkToProject } from "../project/project-link.js";
import { useSession } from "../session/session-context.js";
import { Ago } from "../ui/ago.js";
import { Failure } from "../ui/failure.js";
import { counted, formatCount } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";
import { refOf } from "./kinds.js";
import type { Kind } from "./kinds.js";
import type { Version } from "./version-head.js";

const newestCalls = 10;
const mostOps = 10;

/** The calls of an op, or those that got another object as an input: how many, of which ops, and the newest. */
export function WhereUsed({ projectId, kind, version }: { projectId: string; kind: Kind; version: Version }) {
  const session = useSession();
  const ref = refOf(projectId, kind, version.object_id, version.digest);
  const { data, error, refetch } = useQuery({
    queryKey: ["where-used", projectId, ref],
    queryFn: async ({ signal }) => {
      const filter: CallsFilter = kind === "ops" ? { op_names: [ref] } : { input_refs: [ref] };
      const common = { project_id: projectId, filter };
      const [figures, { calls }] = await Promise.all([
        callsAggregate(
          session.connection,
          { ...common, metrics: ["count", "errors"], group_by: ["op"], top: mostOps },
          { signal },
        ),
        callsPage(
          session.connection,
          { ...common, limit: newestCalls, select: ["name", "status", "latency_ms"] },
          { signal },
        ),
      ]);
      return { figures, calls };
    },
  });
  return (
    <section className="version-part" aria-label="Where used">
      <header>
        <h2>where used</h2>
        {data !== undefined && (
          <span className="quiet">
            {counted(data.figures.total.values["count"] ?? 0, "call")}
            {kind !== "ops" && " with it among the inputs"}
            {!data.figures.exact && data.figures.since !== undefined && (
              <>
                {" "}
                since <Ago time={data.figures.since} />
              </>
            )}
          </span>
        )}
      </header>
      {error !== null && (
        <Failure what="It cannot be read where this is used." error={error} onRetry={() => refetch()} />
      )}
      {data === undefined && error === null && <Waiting what="Looking for calls" />}
      {data !== undefined && data.calls.length === 0 && <p className="quiet">No call names this version.</p>}
      {data !== undefined && data.calls.length > 0 && (
        <>
          {kind !== "ops" && (
            <ul className="used-by">
              {data.figures.groups.map(({ key: [op], values }) => (
                <li key={op}>
                  <Link
                    {...linkToProject(projectId)}
                    search={op === null || op === undefined ? {} : { op }}
                    className="given"
                  >
                    {visibleLine(op ?? "without a name")}
                  </Link>{" "}
                  <span className="quiet">
                    {counted(values["count"] ?? 0, "call")}
                    {(values["errors"] ?? 0) > 0 && `, ${formatCount(values["errors"] ?? 0)} failed`}
                  </span>
                </li>
              ))}
              {data.figures.other !== undefined && (
                <li className="quiet">others {counted(data.figures.other.values["count"] ?? 0, "call")}</li>
              )}
            </ul>
          )}
          <ul className="used-in">
            {data.calls.map((call) => (
              <li key={call.id}>
                <Link
                  to="/$entity/$project/calls/$callId"
                  params={{ ...linkToProject(projectId).params, callId: call.id }}
                  className="given cut"
                >
                  {visibleLine(call.name ?? call.id)}
                </Link>
                <Status status={call.status} />
                <span className="figure">
                  <Latency call={call} />
                </span>
                <span className="quiet figure">
                  <Ago time={call.started_at} />
                </span>
              </li>
            ))}
          </ul>
          {kind === "ops" && (
            <p>
              <Link {...linkToProject(projectId)} search={{ op: ref }}>
                All calls of this version
              </Link>
            </p>
          )}
        </>
      )}
    </section>
  );
}
