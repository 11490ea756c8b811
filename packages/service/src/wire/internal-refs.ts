import { mainThread } from "@heddle/concurrency";
import type { Caller, ControlPlane } from "@heddle/control-plane";
import { HeddleError } from "@heddle/errors";
import type { JsonText } from "@heddle/exact-json";
import { RawJson } from "@heddle/server-stub";
import { externalRefsInSteps, runStepsWithPauses } from "@heddle/trace-model";
import type { ProjectOf, Steps } from "@heddle/trace-model";
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
  const giveWay = async () => await mainThread.giveWay();
  const { ids, longTexts } = await runStepsWithPauses(internalRefsIn(body), giveWay);
  if (ids.size === 0) return () => undefined;
  const projects = new Map<string, string>();
  for (const id of ids) {
    const project = await control.projects.byId(id);
    if (project !== undefined && mayRead(caller, project.project_id)) projects.set(id, project.project_id);
  }
  const projectOf = (id: string) => projects.get(id);
  const rewritten = new Map<JsonText, JsonText | HeddleError>();
  for (const text of longTexts) {
    try {
      rewritten.set(text, await runStepsWithPauses(externalRefsInSteps(text, projectOf), giveWay));
    } catch (error) {
      if (!(error instanceof HeddleError)) throw error;
      rewritten.set(text, error);
    }
  }
  return Object.assign(projectOf, { rewritten });
}

interface InternalRefs {
  /** Of projects. */
  ids: ReadonlySet<string>;
  /** JSON with refs that is rewritten with pauses, before the body is used. */
  longTexts: readonly JsonText[];
}

/** Looks for refs in all texts of a body. */
function* internalRefsIn(body: unknown): Steps<InternalRefs> {
  const ids = new Set<string>();
  const longTexts: JsonText[] = [];
  const open: unknown[] = [body];
  for (let searched = 1; open.length > 0; searched++) {
    if (searched % valuesPerStep === 0) yield;
    const value = open.pop();
    if (typeof value === "string" || value instanceof RawJson) {
      const text = typeof value === "string" ? value : value.text;
      if (!text.includes("weave-trace-internal:///")) continue;
      if (value instanceof RawJson && text.length > longText) longTexts.push(text);
      let found = 0;
      for (const [, id] of text.matchAll(internalRef)) {
        if (id !== undefined) ids.add(id);
        if (ids.size > maxIds)
          throw new HeddleError("too_large", `Request too large: refs of more than ${maxIds} internal projects`);
        if (++found % valuesPerStep === 0) yield;
      }
    } else if (Array.isArray(value)) {
      for (const item of value) open.push(item);
    } else if (typeof value === "object" && value !== null) {
      for (const member of Object.values(value)) open.push(member);
    }
  }
  return { ids, longTexts };
}

/** The clock is read once per so many values. */
const valuesPerStep = 1024;

/** In characters. */
const longText = 65_536;
