import { mainThread } from "@heddle/concurrency";
import type { Caller, ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import { RawJson } from "@heddle/server-stub";
import type { ProjectOf } from "@heddle/trace-model";
import { mayRead } from "../access/authorize.js";

/** One lookup each. Clients name the projects of one request, of which there are few. */
const maxIds = 1000;

const internalRef = /weave-trace-internal:\/\/\/([^/"\\]+)\//g;

/**
 * Refs are stored in their external form. A client that got internal project ids from /service/projects_info may send
 * refs that name them; this looks up the ids found anywhere in the body, once, before the body is used.
 * A project that the caller may not read is treated like an id that does not exist: the rewriting rejects the item
 * that names it, and only that item of a batch.
 */
export async function internalProjects(control: ControlPlane, caller: Caller, body: unknown): Promise<ProjectOf> {
  const ids = await idsIn(body);
  if (ids.size === 0) return () => undefined;
  if (ids.size > maxIds) {
    throw new HeddleError("too_large", `Request too large: refs of more than ${maxIds} internal projects`);
  }
  const projects = new Map<string, string>();
  for (const id of ids) {
    const project = await control.projects.byId(id);
    if (project !== undefined && mayRead(caller, project.project_id)) projects.set(id, project.project_id);
  }
  return (id) => projects.get(id);
}

/** The ids of internal projects in the texts of a body, of which a long one is searched in slices. */
async function idsIn(body: unknown): Promise<Set<string>> {
  const ids = new Set<string>();
  const open: unknown[] = [body];
  let since = performance.now();
  for (let searched = 1; open.length > 0; searched++) {
    if (searched % valuesPerClockCheck === 0 && performance.now() - since > sliceMs) {
      await mainThread.giveWay();
      since = performance.now();
    }
    const value = open.pop();
    if (typeof value === "string" || value instanceof RawJson) {
      const text = typeof value === "string" ? value : value.text;
      if (!text.includes("weave-trace-internal:///")) continue;
      for (const [, id] of text.matchAll(internalRef)) if (id !== undefined) ids.add(id);
    } else if (Array.isArray(value)) {
      for (const item of value) open.push(item);
    } else if (typeof value === "object" && value !== null) {
      for (const member of Object.values(value)) open.push(member);
    }
  }
  return ids;
}

/** After so long, other requests get the event loop. The clock is read once per so many values. */
const sliceMs = 4;
const valuesPerClockCheck = 1024;
