import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { newProject, openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";
import { hostileTexts } from "./hostile-texts.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());
afterEach(() => expect(service.unexpected.splice(0)).toEqual([]));

const statusOf = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "status" in error ? error.status : error;

describe.concurrent("a name that is given later comes back as it was given, finds its thing and no other, or is refused", () => {
  test.each(Object.entries(hostileTexts))("%s", async (_, text) => {
    const projectId = newProject();
    const tracing = service.tracing();

    const start = { project_id: projectId, trace_id: "t", op_name: "op", started_at: 0, attributes: {}, inputs: {} };
    for (const id of ["named", "other"]) await tracing.callStart({ start: { ...start, id, display_name: "old" } });
    await tracing.callUpdate({ project_id: projectId, call_id: "named", display_name: text });
    const { call } = await tracing.callRead({ project_id: projectId, id: "named" });
    expect(call?.display_name).toBe(text === "" ? null : text);
    const query = { $expr: { $eq: [{ $getField: "display_name" }, { $literal: text === "" ? null : text }] } };
    expect((await tracing.callsQuery({ project_id: projectId, query })).calls.map(({ id }) => id)).toEqual(["named"]);

    const objectId = "o";
    const created = [];
    for (const val of [1, 2])
      created.push((await tracing.objCreate({ obj: { project_id: projectId, object_id: objectId, val } })).digest);
    const [digest = ""] = created;
    const alias = await tracing
      .objSetAliases({ object_id: objectId, project_id: projectId, digest, aliases: [text] })
      .catch(statusOf);
    const stored = (await tracing.aliasesList({ project_id: projectId })).aliases;
    if (alias === 400) expect(stored).toEqual([]);
    else {
      expect(stored).toEqual([text]);
      expect((await tracing.objRead({ project_id: projectId, object_id: objectId, digest: text })).obj.digest).toBe(
        digest,
      );
      await tracing.objRemoveAliases({ object_id: objectId, project_id: projectId, aliases: [text] });
      expect((await tracing.aliasesList({ project_id: projectId })).aliases).toEqual([]);
    }

    const tag = await tracing
      .objAddTags({ object_id: objectId, project_id: projectId, digest, tags: [text] })
      .catch(statusOf);
    expect((await tracing.tagsList({ project_id: projectId })).tags).toEqual(tag === 400 ? [] : [text]);
    if (/[^\w -]/.test(text)) expect(tag).toBe(400);
  });
});
