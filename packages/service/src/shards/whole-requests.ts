import type { HttpRequest } from "@heddle/server-stub";
import { tracingOperations } from "@heddle/server-stub/tracing";
import { pathPattern } from "../http/path-pattern.js";
import type { Elsewhere } from "../replicas/follower.js";
import type { ProjectHomes } from "./project-homes.js";
import type { ShardStore } from "./shard-store.js";

interface Known {
  homes: Pick<ProjectHomes, "remembered">;
  stores: ReadonlyMap<string, Pick<ShardStore, "place" | "forwarded">>;
}

/**
 * Finds the replica that works on the shard of a request: one that stores much, and that names its project outside of its body.
 * Only where it is remembered: nobody has accepted the key of the request yet. The other one finds what else it is about.
 */
export function wholeRequests({ homes, stores }: Known): (request: HttpRequest) => Elsewhere | undefined {
  return (request) => {
    const projectId = projectOf(request);
    const shard = projectId === undefined ? undefined : homes.remembered(projectId);
    const store = shard === undefined ? undefined : stores.get(shard);
    const place = store?.place.now;
    if (store === undefined || place === undefined || "store" in place) return undefined;
    return { ...place, onResponse: () => void (store.forwarded += 1) };
  };
}

const pathsOf = (operationId: string): string[] =>
  tracingOperations().flatMap(({ id, paths }) => (id === operationId ? paths : []));
const exportPaths = new Set(pathsOf("exportTrace"));
const [completePath = ""] = pathsOf("callsComplete");
const complete = pathPattern(completePath);

function projectOf(request: HttpRequest): string | undefined {
  if (request.method !== "POST") return undefined;
  const [path = ""] = request.target.split("?", 1);
  if (exportPaths.has(path)) return request.header("project_id");
  try {
    const { entity, project } = complete(path) ?? {};
    return entity === undefined || project === undefined ? undefined : `${entity}/${project}`;
  } catch {
    // A path that cannot be decoded is refused where it is worked on.
    return undefined;
  }
}
