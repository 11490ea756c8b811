import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { endSide, startSide } from "../../stored-calls/call-sides.js";
import { WrittenFields } from "../../stored-calls/written-fields.js";
import { keyText } from "../../stored-calls/call-key.js";
import { OpenSideCache } from "./open-side-cache.js";
import { defaultLimits, IngestState } from "./state.js";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const megabyte = 1024 * 1024;

/** An open call as a reader of JSON finds it: all texts are slices of the body. The number is beyond those of the engine. */
function openCall(index: number, padding: string) {
  const number = "1".repeat(400);
  const texts = [`project-of-a-team/number-${index}`, `a-call-with-a-long-id-${index}`, `{"large":${number}}`, padding];
  const body = Buffer.from(texts.join("|")).toString();
  let at = 0;
  const [project = "", id = "", json = ""] = texts.map((text) => {
    const slice = body.slice(at, at + text.length);
    at += text.length + 1;
    return slice;
  });
  const start = startSide({
    project_id: project,
    id,
    trace_id: id,
    op_name: "op",
    started_at: 1n,
    attributes: "{}",
    inputs: json,
  });
  const end = endSide({ project_id: project, id, ended_at: 2n, output: json, summary: "{}" });
  return { project_id: project, id, start, end };
}

it("what is kept of open calls keeps no request body", () => {
  const state = new IngestState(defaultLimits);
  const padding = "x".repeat(megabyte);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < 40; index++) {
    const { start, end, ...call } = openCall(index, padding);
    const side = index % 2 === 0 ? { start: { side: start, version: 1n } } : { end: { side: end, version: 1n } };
    state.cache.set(call, side);
    state.hiddenCalls.add(call, 1n, 1n);
  }
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / megabyte).toBeLessThan(5);
  const [first, second] = [openCall(0, ""), openCall(1, "")];
  expect(state.cache.get(keyText(first))?.start?.side).toEqual(first.start);
  expect(state.cache.get(keyText(second))?.end?.side).toEqual(second.end);
});

it("the original texts of open calls count to the limit of what is kept", () => {
  const cache = new OpenSideCache(megabyte);
  const inputs = `{"large":${"1".repeat(300_000)}}`;
  for (const id of ["a", "b", "c", "d"]) {
    const side = startSide({
      project_id: "acme/demo",
      id,
      trace_id: id,
      op_name: "op",
      started_at: 1n,
      attributes: "{}",
      inputs,
    });
    cache.set(
      { project_id: "acme/demo", id },
      { start: { side: { ...side, fields: new WrittenFields(Buffer.alloc(10)) }, version: 1n } },
    );
  }
  expect([...cache.starts("acme/demo").keys()]).toEqual(["b", "c", "d"]);
});

it("calls of a large commit are found in time that grows with their number", () => {
  const state = new IngestState(defaultLimits);
  const calls = Array.from({ length: 30_000 }, (_, index) => ({
    project_id: "acme/demo",
    id: `call-with-a-long-id-${index}`,
  }));
  state.beginClosing(calls);
  const begin = performance.now();
  expect(calls.every((call) => state.startedAt(call) === undefined)).toBe(true);
  expect(performance.now() - begin).toBeLessThan(1000);
});
