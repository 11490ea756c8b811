import { callerMay } from "@heddle/control-plane";
import type { LinkedExport } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { reply } from "@heddle/server-stub";
import type { TracingHandlers } from "@heddle/server-stub/tracing";
import { formatTime } from "@heddle/trace-model";
import { acceptUrl } from "../access/authenticate.js";
import { checkUsable } from "../access/authorize.js";
import { splitProject } from "../access/project-id.js";
import { keptText, readRequest } from "../exports/export-request.js";
import type { ExportRequest } from "../exports/export-request.js";
import { callWriter, writeCalls } from "../exports/write-calls.js";
import { storedBlob } from "../files/stored-blob.js";
import { attachment } from "../http/attachment.js";
import { publicUrl } from "../http/public-url.js";
import { currentScope, currentSharer, reserveForStream } from "../limits/request-scope.js";
import { openExportSlots } from "../limits/shares.js";
import type { Caller, Services } from "../services.js";
import { withQueueMembership } from "../wire/queue-membership.js";
import { UserNames } from "../wire/user-names.js";

export function exportHandlers({ config, control, store, blobs }: Services): TracingHandlers<Caller>["exports"] {
  const slots = openExportSlots();

  async function fileOf(projectId: string, digest: string) {
    const file = await store.files.get({ project_id: projectId, digest });
    if (file !== undefined) return file;
    throw new HeddleError("not_found", `no file ${digest} in ${projectId}`, { loc: ["file"] });
  }

  /** Throws `forbidden` where the key of the link may not read the project any more. */
  function checkReader({ project_id, check }: LinkedExport): void {
    const caller = acceptUrl(check);
    const { entity = "", project = "" } = splitProject(project_id) ?? {};
    if (!callerMay(caller, entity, project, "read"))
      throw new HeddleError("forbidden", "the API key that made the link may not read this project any more");
    checkUsable(control, project_id);
  }

  /** Calls, as text in chunks, while one of few exports at once. */
  async function* callsOf(
    projectId: string,
    request: Extract<ExportRequest, { format: string }>,
    signal: AbortSignal,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const release = await slots.acquire(currentSharer(), 1, signal);
    try {
      const writer = callWriter(request);
      const { filter, query, search, sort_by } = request;
      const selected = { project_id: projectId, filter, query, search, sort_by };
      const selection = await withQueueMembership(control, selected);
      const columns = writer.columns && { columns: [...writer.columns] };
      const calls = store.calls.query({ ...selection, ...columns }, { signal, reserve: reserveForStream() });
      const names = new UserNames(control);
      yield* writeCalls(calls, writer, async (id) => await names.of(id));
    } finally {
      release();
    }
  }

  return {
    async exportCreate({ body }, caller) {
      const { project_id } = body;
      const request = readRequest(body);
      if ("file" in request) await fileOf(project_id, request.file);
      else {
        callWriter(request);
        // What is wrong with the query is known before anything is read.
        for await (const _ of store.calls.query({ ...(await withQueueMembership(control, body)), limit: 0 })) break;
      }
      const { token, expires_at } = await control.exportLinks.create(caller, project_id, keptText(request));
      const http = currentScope()?.request;
      const base = http === undefined ? "" : publicUrl(config, http);
      return { url: `${base}/exports/${token}`, expires_at: formatTime(expires_at) };
    },

    async exportDownload({ params: { token }, signal }) {
      const found = await control.exportLinks.find(token);
      if (found === undefined)
        throw new HeddleError("not_found", "no such export: its link is used up or has expired, or is none");
      checkReader(found);
      const isHead = currentScope()?.request.method === "HEAD";
      if (!isHead && !(await control.exportLinks.begin(token)))
        throw new HeddleError("not_found", "the link of this export is used up: make another one");
      const request = JSON.parse(found.request) as ExportRequest;
      const name = splitProject(found.project_id)?.project ?? "";
      if ("file" in request) {
        const file = await fileOf(found.project_id, request.file);
        const { stream, size } = await storedBlob(blobs, file);
        const headers = { ...attachment(file.name), "content-length": String(size) };
        return reply(200, isHead ? nothing() : stream, headers);
      }
      const { mediaType, extension } = callWriter(request);
      const headers = { ...attachment(`${name}-calls.${extension}`), "content-type": mediaType };
      return reply(200, isHead ? nothing() : callsOf(found.project_id, request, signal), headers);
    },
  };
}

async function* nothing(): AsyncGenerator<Uint8Array, void, undefined> {}
