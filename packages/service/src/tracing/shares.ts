import type { Share } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { Schemas, TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import { sharePrefix } from "../access/authenticate.js";
import { publicUrl } from "../http/public-url.js";
import { currentScope } from "../limits/request-scope.js";
import type { Caller, Services } from "../services.js";
import { checkRedact } from "../shares/redact-call.js";

export function shareHandlers({ config, control: { shares }, store }: Services): TracingHandlers<Caller>["shares"] {
  return {
    async shareCreate({ body, signal }, caller) {
      const { project_id, trace_id, expires_in, redact = [] } = body;
      checkRedact(redact);
      await checkTrace(store, { project_id, trace_id }, signal);
      const request = { project_id, trace_id, redact, expires_in: BigInt(expires_in) * 1_000_000n };
      const created = await shares.create(caller, request);
      const token = sharePrefix + created.token;
      const http = currentScope()?.request;
      const base = http === undefined ? "" : publicUrl(config, http);
      // Browsers send the fragment to no server.
      const fragment = new URLSearchParams({ project: project_id, trace: trace_id, token });
      return { share: wireShare(created.share), url: `${base}/console/share#${fragment.toString()}`, token };
    },

    async shareList({ query }) {
      return { shares: (await shares.list(query.project_id)).map(wireShare) };
    },

    async shareRevoke({ params: { share_id }, query: { project_id } }) {
      if (await shares.revoke(project_id, share_id)) return {};
      throw new HeddleError("not_found", `no share ${share_id} in ${project_id}`, { loc: ["share_id"] });
    },
  };
}

/** Throws `not_found` for a trace without calls: a link to it would show nothing, and later whatever takes its id. */
async function checkTrace(
  { calls }: Services["store"],
  { project_id, trace_id }: { project_id: string; trace_id: string },
  signal: AbortSignal,
): Promise<void> {
  const request = { project_id, filter: { trace_ids: [trace_id] }, columns: ["id"], limit: 1 };
  for await (const _ of calls.query(request, { signal })) return;
  throw new HeddleError("not_found", `no trace ${trace_id} in ${project_id}`, { loc: ["trace_id"] });
}

function wireShare(stored: Share): Schemas["ShareSchema"] {
  const { project_id: _, created_at, expires_at, ...share } = stored;
  return { ...share, created_at: formatTime(created_at), expires_at: formatTime(expires_at) };
}
