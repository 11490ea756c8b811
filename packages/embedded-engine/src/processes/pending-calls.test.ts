import { describe, expect, it } from "vitest";
import { HeddleError } from "@heddle/errors";
import type { WireError } from "@heddle/concurrency";
import { pendingCalls } from "./pending-calls.js";
import type { ParentMessage } from "./protocol.js";

function table(): { sent: ParentMessage[]; calls: ReturnType<typeof pendingCalls> } {
  const sent: ParentMessage[] = [];
  return { sent, calls: pendingCalls((message) => void sent.push(message)) };
}

describe("a call to a child process", () => {
  it("rejects with the code, message, location and details of the child's error", async () => {
    const { calls } = table();
    const wire: WireError = {
      code: "corrupt",
      message: "the checkpoint is corrupt",
      loc: ["weights", "checkpoint"],
      details: { file: "model.safetensors" },
    };
    const call = calls.call("logprobs", []);
    calls.receive({ type: "error", id: 1, error: wire });
    const error: unknown = await call.catch((error: unknown) => error);
    expect(error).toBeInstanceOf(HeddleError);
    expect(error).toMatchObject(wire);
  });

  it("forwards an abort to the child and waits for its response", async () => {
    const { sent, calls } = table();
    const controller = new AbortController();
    const call = calls.call("generate", {}, { signal: controller.signal });
    controller.abort();
    expect(sent.at(-1)).toEqual({ type: "abort", id: 1 });
    calls.receive({ type: "error", id: 1, error: { code: "aborted", message: "stopped" } });
    await expect(call).rejects.toMatchObject({ code: "aborted", message: "stopped" });
  });

  it("is not sent if it was already aborted", async () => {
    const { sent, calls } = table();
    await expect(calls.call("generate", {}, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: "aborted",
    });
    expect(sent).toEqual([]);
  });

  it("rejects with the error of its listener, and is aborted in the child", async () => {
    const { sent, calls } = table();
    const call = calls.call(
      "generate",
      {},
      {
        onEvent: () => {
          throw new Error("the socket is closed");
        },
      },
    );
    calls.receive({ type: "events", calls: [{ id: 1, events: [1, 2] }] });
    expect(sent.filter(({ type }) => type === "abort")).toHaveLength(1);
    calls.receive({ type: "error", id: 1, error: { code: "aborted", message: "stopped" } });
    await expect(call).rejects.toThrow("the socket is closed");
  });

  it("gets its own events of a message for several calls, until it has ended", async () => {
    const { calls } = table();
    const got: unknown[][] = [[], [], []];
    const listen = (n: number) => ({ onEvent: (event: never) => void got[n]?.push(event) });
    const [first, second] = [calls.call("generate", {}, listen(1)), calls.call("generate", {}, listen(2))];
    calls.receive({
      type: "events",
      calls: [
        { id: 2, events: ["x", "y"] },
        { id: 1, events: ["a"] },
      ],
    });
    calls.receive({ type: "result", id: 1, value: "end" });
    await expect(first).resolves.toBe("end");
    calls.receive({
      type: "events",
      calls: [
        { id: 1, events: ["late"] },
        { id: 2, events: ["z"] },
      ],
    });
    calls.receive({ type: "result", id: 2, value: "end" });
    await second;
    expect(got).toEqual([[], ["a"], ["x", "y", "z"]]);
  });

  it("rejects when the child has exited, and so does every later one", async () => {
    const { calls } = table();
    const call = calls.call("optimStep", {});
    const why = new HeddleError("failed", "the training process ended by SIGKILL");
    calls.end(why);
    await expect(call).rejects.toBe(why);
    await expect(calls.call("optimStep", {})).rejects.toBe(why);
  });
});
