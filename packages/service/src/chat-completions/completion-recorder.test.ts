import { HeddleError } from "@heddle/errors";
import type { CallPart } from "@heddle/trace-model";
import { expect, test, vi } from "vitest";
import { CompletionRecorder } from "./completion-recorder.js";
import type { RecorderOptions } from "./completion-recorder.js";

const call = {
  part: "complete",
  start: { project_id: "acme/demo", id: "c", inputs: '{"a":1}' },
  end: { project_id: "acme/demo", id: "c", output: "{}" },
} as unknown as Extract<CallPart, { part: "complete" }>;

/** A recorder whose store responds with each of the outcomes in turn. */
function recorderOf(...outcomes: (object[] | Error)[]) {
  const stored: CallPart[] = [];
  const lost: unknown[] = [];
  const ingest = async ([part]: CallPart[]) => {
    if (part !== undefined) stored.push(part);
    const outcome = outcomes.shift() ?? [];
    if (outcome instanceof Error) throw outcome;
    return outcome;
  };
  const services = { control: { projects: { isRemembered: () => false, ensure: async () => {} } }, store: { ingest } };
  const options = { services, onLost: (error: unknown) => lost.push(error) } as unknown as RecorderOptions;
  return { recorder: new CompletionRecorder(options), stored, lost };
}

test("a store that does not respond is tried again", async () => {
  const { recorder, stored, lost } = recorderOf(new HeddleError("busy", "it restarts"));
  recorder.record(call);
  await vi.waitFor(() => expect(stored).toHaveLength(2));
  await recorder.close();
  expect(lost).toEqual([]);
});

test("what waits when the service stops is tried once more, and then reported", async () => {
  const busy = () => new HeddleError("busy", "it restarts");
  const { recorder, stored, lost } = recorderOf(busy(), busy());
  recorder.record(call);
  await recorder.close();
  expect(stored).toHaveLength(2);
  expect(lost).toMatchObject([{ code: "busy" }]);
});

test("a call that the store refuses is stored without its payloads", async () => {
  const { recorder, stored, lost } = recorderOf([{ index: 0, message: "too large" }]);
  recorder.record(call);
  await recorder.close();
  expect(stored[1]).toMatchObject({
    start: { inputs: '{"omitted":"too large"}' },
    end: { output: '{"omitted":"too large"}' },
  });
  expect(lost).toEqual([]);
});

test("more than can wait is reported", async () => {
  const { recorder, lost } = recorderOf();
  recorder.record({ ...call, start: { ...call.start, inputs: " ".repeat(65 * 1024 * 1024) } });
  expect(lost).toMatchObject([{ code: "busy" }]);
});

test("what waits of one entity leaves memory for the calls of others", async () => {
  const { recorder, stored, lost } = recorderOf();
  const large = { ...call, start: { ...call.start, inputs: " ".repeat(20 * 1024 * 1024) } };
  for (let n = 0; n < 3; n++) recorder.record(large);
  expect(lost).toMatchObject([{ code: "busy" }, { code: "busy" }]);
  recorder.record({ ...large, start: { ...large.start, project_id: "rival/demo" } });
  await recorder.close();
  expect(lost).toHaveLength(2);
  expect(stored.map((part) => "start" in part && part.start.project_id)).toEqual(["acme/demo", "rival/demo"]);
  recorder.record(large);
  await recorder.close();
  expect(lost).toHaveLength(2);
});
