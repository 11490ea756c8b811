import { getSystemCheck } from "@heddle/client/training";
import type { GetSystemCheckResult } from "@heddle/client/training";
import { serverInfo } from "@heddle/client/tracing";
import { HeddleApiError } from "@heddle/client/tracing";
import { useQuery } from "@tanstack/react-query";
import { useSession } from "../session/session-context.js";
import { Failure } from "../ui/failure.js";
import { counted, formatDuration } from "../ui/format.js";
import { visibleLine } from "../ui/visible-text.js";
import { Waiting } from "../ui/waiting.js";

type Parts = GetSystemCheckResult["parts"];
type Status = Parts[keyof Parts]["status"];

const titles: Record<keyof Parts, [title: string, does: string]> = {
  traces: ["Traces", "keeps calls, objects, tables and feedback"],
  control_plane: ["Control plane", "keeps keys, users, projects and queues"],
  blobs: ["Files", "keeps the bytes of files"],
  trainer: ["Trainer", "trains models"],
  sampler: ["Sampler", "samples from models"],
};
const words: Record<Status, string> = {
  ok: "✓ works",
  degraded: "✗ works, has lost data",
  failed: "✗ does not work",
  absent: "not there",
};
const classes: Record<Status, string> = {
  ok: "is-success",
  degraded: "is-error",
  failed: "is-error",
  absent: "quiet",
};
const refreshMs = 15_000;

/** Whether each part of the service works, and what was lost. */
export function SystemView() {
  const session = useSession();
  const info = useQuery({
    queryKey: ["server-info"],
    queryFn: ({ signal }) => serverInfo(session.connection, { signal }),
    staleTime: 60_000,
  });
  const { data, error, refetch } = useQuery({
    queryKey: ["system-check"],
    queryFn: async ({ signal }) => {
      try {
        return await getSystemCheck(session.training, { signal, retries: 0 });
      } catch (failure) {
        const found = checkIn(failure);
        if (found === undefined) throw failure;
        return found;
      }
    },
    refetchInterval: refreshMs,
  });
  const heddle = info.data?.heddle;
  return (
    <>
      {error !== null && <Failure what="The service cannot be checked." error={error} onRetry={() => refetch()} />}
      {data === undefined && error === null && <Waiting what="Checking the service" />}
      {data !== undefined && (
        <table className="plain-table system">
          <thead>
            <tr>
              <th scope="col">part</th>
              <th scope="col">state</th>
              <th scope="col" className="figure">
                responds in
              </th>
            </tr>
          </thead>
          <tbody>
            {(Object.keys(titles) as (keyof Parts)[]).map((part) => {
              const { status, latency, error: reason, lost } = data.parts[part];
              const [title, does] = titles[part];
              return (
                <tr key={part}>
                  <th scope="row">
                    {title} <span className="quiet">{does}</span>
                  </th>
                  <td>
                    <span className={classes[status]}>{words[status]}</span>
                    {reason !== null && <p className="given">{visibleLine(reason)}</p>}
                    {lost.length > 0 && (
                      <details>
                        <summary>{counted(lost.length, "loss", "losses")}</summary>
                        <ul>
                          {lost.map((what) => (
                            <li key={what} className="given">
                              {visibleLine(what)}
                            </li>
                          ))}
                        </ul>
                      </details>
                    )}
                  </td>
                  <td className="figure">{status !== "absent" && formatDuration(latency * 1000)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
      {heddle !== undefined && (
        <p className="quiet">
          Heddle {heddle.version}
          {heddle.capabilities.length > 0 && `, with ${heddle.capabilities.join(", ")}`}
        </p>
      )}
    </>
  );
}

/** A service that does not work responds with 503, and with what does not. */
function checkIn(error: unknown): GetSystemCheckResult | undefined {
  if (!(error instanceof HeddleApiError) || error.status !== 503) return undefined;
  const body: unknown = error.body;
  return typeof body === "object" && body !== null && "parts" in body ? (body as GetSystemCheckResult) : undefined;
}
