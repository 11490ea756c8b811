import { randomUUID } from "node:crypto";
import { exactTimes } from "./exact-values.js";
import type { Fixture } from "./fixture.js";

/** Stores, for the groups that read it, free JSON and times of which only an exact reader keeps everything. */
export async function storeExactly(fixture: Fixture, groups: ReadonlySet<string>): Promise<void> {
  const { stored } = fixture;
  const { projectId } = fixture.own;
  /** A body with the free JSON where it has `hole`; what it made, where it was stored. */
  const hole = randomUUID();
  const send = async (operationId: string, body: unknown): Promise<Record<string, unknown> | undefined> => {
    const operation = fixture.operation(operationId);
    const text = JSON.stringify(body).replaceAll(`"${hole}"`, () => stored.json);
    const exchange = await fixture.send(operation, { body: text });
    return exchange.status === operation.success ? (JSON.parse(exchange.text) as Record<string, unknown>) : undefined;
  };
  if (groups.has("calls") || groups.has("feedback")) {
    const id = randomUUID();
    const [startedAt, endedAt] = [`${exactTimes.started_at}Z`, `${exactTimes.ended_at}Z`];
    const start = {
      project_id: projectId,
      id,
      trace_id: id,
      op_name: "exact",
      started_at: startedAt,
      attributes: {},
      inputs: hole,
    };
    await send("callStart", { start });
    if (await send("callEnd", { end: { project_id: projectId, id, ended_at: endedAt, output: hole, summary: {} } }))
      stored.callId = id;
  }
  if (groups.has("feedback") && stored.callId !== undefined) {
    const weaveRef = `weave:///${projectId}/call/${stored.callId}`;
    const created = await send("feedbackCreate", {
      project_id: projectId,
      weave_ref: weaveRef,
      feedback_type: "exact",
      payload: hole,
    });
    if (typeof created?.["id"] === "string") stored.feedbackId = created["id"];
  }
  if (groups.has("objects")) {
    const created = await send("objCreate", { obj: { project_id: projectId, object_id: "exact", val: hole } });
    if (typeof created?.["digest"] === "string") stored.object = { object_id: "exact", digest: created["digest"] };
  }
  if (groups.has("tables")) {
    const created = await send("tableCreate", { table: { project_id: projectId, rows: [hole] } });
    if (typeof created?.["digest"] === "string") stored.table = created["digest"];
  }
}
