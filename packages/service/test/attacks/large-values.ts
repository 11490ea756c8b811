import { newProject, openTestService } from "../test-service.js";
import { openResponse, readSize } from "./sized-responses.js";

/** A service on a socket with one large object, and six calls and six table rows that have it. */
export async function openLargeValues(bytes: number, env: Record<string, string> = {}) {
  const service = await openTestService(env);
  const url = await service.listen();
  const projectId = newProject();
  const [entity = "", project = ""] = projectId.split("/");
  const tracing = service.tracing();
  const text = "x".repeat(bytes);
  const { digest } = await tracing.objCreate({ obj: { project_id: projectId, object_id: "large", val: { text } } });
  const ref = `weave:///${projectId}/object/large:${digest}`;
  const started = "2026-04-10T09:00:00Z";
  const call = { project_id: projectId, trace_id: "t", op_name: "op", started_at: started, ended_at: started };
  const batch = Array.from({ length: 6 }, (_, n) => ({
    ...call,
    id: `c${n}`,
    attributes: {},
    inputs: { model: ref },
    summary: {},
  }));
  await tracing.callsComplete({ entity, project, batch });

  /** Sends a request over a socket of its own, and reads nothing of the body of its response. */
  const open = async (path: string, body: object, key = service.owner_key) =>
    await openResponse(`${url}${path}`, key, { project_id: projectId, ...body });

  const post = async (path: string, body: object, key?: string) => await readSize(await open(path, body, key));

  return {
    service,
    projectId,
    text,
    open,
    post,
    /** The body of a request for the large object so many times, without a project beside the refs. */
    refs: (count: number) => ({ project_id: undefined, refs: Array.from({ length: count }, () => ref) }),
  };
}

export type LargeValues = Awaited<ReturnType<typeof openLargeValues>>;
