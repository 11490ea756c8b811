import { HeddleError } from "@heddle/errors";
import { writeJson } from "@heddle/server-stub";
import type { Schemas } from "@heddle/server-stub/tracing";

type Request = Schemas["ExportCreateReq"];

/** What a link leads to: a file, or calls in a form. */
export type ExportRequest =
  | { file: string }
  | (Pick<Request, "filter" | "query" | "search" | "sort_by" | "select"> & { format: NonNullable<Request["format"]> });

/** Of the text that is kept while the link is valid. */
const mostCharacters = 1_000_000;

/** Throws `unprocessable` for a file together with calls. */
export function readRequest(request: Request): ExportRequest {
  const { project_id: _, file, format, ...calls } = request;
  if (file === undefined) return { ...calls, format };
  const given = Object.entries(calls).find(([, value]) => value !== undefined);
  if (given === undefined && format === "jsonl") return { file };
  throw new HeddleError("unprocessable", "a file has no calls, and no format", { loc: [given?.[0] ?? "format"] });
}

/** Throws `too_large` for a request that is too long to be kept. */
export function keptText(request: ExportRequest): string {
  const text = writeJson(request);
  if (text.length <= mostCharacters) return text;
  throw new HeddleError("too_large", `an export is described by at most ${mostCharacters} characters`);
}
