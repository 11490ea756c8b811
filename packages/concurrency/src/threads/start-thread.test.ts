import { expect, test, vi } from "vitest";
import { onThreadOutput, startThread } from "./start-thread.js";

test("what a thread writes to stderr reaches the listener", async () => {
  const texts: string[] = [];
  onThreadOutput((text) => texts.push(text));
  const thread = startThread(new URL("../../test/complaining-thread.ts", import.meta.url), {});
  try {
    await vi.waitFor(() => expect(texts.join("\n")).toBe("something broke\n    here"), { timeout: 10_000 });
  } finally {
    onThreadOutput(undefined);
    await thread.terminate();
  }
});
