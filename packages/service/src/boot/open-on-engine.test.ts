import { HeddleError } from "@heddle/errors";
import { expect, test, vi } from "vitest";
import { openOnEngine } from "./open-on-engine.js";

const engine = (...states: Array<"ready" | "restarting">) => ({
  state: () => ({ status: states.shift() ?? "ready", pid: 1, restarts: 0, lastError: undefined }),
});
const lost = new HeddleError("busy", "The trace engine does not respond");

test("a service whose engine is killed while the traces are opened starts once the engine is back", async () => {
  const open = vi.fn().mockRejectedValueOnce(lost).mockResolvedValueOnce("opened");
  const restarting = engine("restarting", "restarting");
  expect(await openOnEngine(restarting, open)).toBe("opened");
  expect(restarting.state().status).toBe("ready");
  expect(open).toHaveBeenCalledTimes(2);
});

test("a service whose engine never stays, or refuses, does not start", async () => {
  const never = vi.fn().mockRejectedValue(lost);
  await expect(openOnEngine(engine(), never)).rejects.toBe(lost);
  expect(never).toHaveBeenCalledTimes(3);
  const refused = vi.fn().mockRejectedValue(new HeddleError("incompatible", "of another service"));
  await expect(openOnEngine(engine(), refused)).rejects.toThrow("of another service");
  expect(refused).toHaveBeenCalledTimes(1);
});
