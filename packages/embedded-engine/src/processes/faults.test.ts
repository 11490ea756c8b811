import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import type { OpenEngine } from "../../test/embedded-engine.js";
import { ask, isRunning, lesson, openEngine, sequences, tiny } from "../../test/embedded-engine.js";

// Training runs at a lower priority than other processes.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const fromSource = [
  "--conditions",
  "@heddle/source",
  "--import",
  pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href,
];

describe("when a process of the engine", () => {
  let open: OpenEngine;
  beforeAll(async () => {
    open = await openEngine({ trainingProcesses: 2 });
  });
  afterAll(() => open.close());

  it("is killed during a step, the job fails with the reason and the others continue", async () => {
    const { engine } = open;
    const other = await engine.openTrainer({ weights: tiny, seed: 1 });
    const trainer = await engine.openTrainer({ weights: tiny, seed: 1 });
    const pid = open.pids("training").at(-1) ?? 0;
    const step = trainer.forwardBackward(lesson(400, 200), { onProgress: () => process.kill(pid, "SIGKILL") });
    await expect(step).rejects.toMatchObject({
      code: "failed",
      message: "the training process ended by SIGKILL",
    });
    await expect(trainer.logprobs(sequences(1, 8))).rejects.toMatchObject({ code: "failed" });
    await trainer.close();
    expect(isRunning(pid)).toBe(false);
    expect(await other.logprobs(sequences(1, 8))).toHaveLength(1);
    expect(await engine.health()).toEqual({ ok: true });
    // Another trainer can be opened.
    const next = await engine.openTrainer({ weights: tiny, seed: 1 });
    await Promise.all([next.close(), other.close()]);
  });

  it("is killed while writing a checkpoint, no partial checkpoint is visible", async () => {
    const trainer = await open.engine.openTrainer({ weights: { baseModel: "random:small" }, seed: 1 });
    const saving = trainer.saveState(join(open.directory, "torn"));
    const outcome = expect(saving).rejects.toMatchObject({ code: "failed" });
    while (readdirSync(open.directory).length === 0) await delay(1);
    process.kill(open.pids("training").at(-1) ?? 0, "SIGKILL");
    await outcome;
    expect(readdirSync(open.directory)).toEqual([]);
  });

  it("is killed during a stream, the stream fails, and requests that had not started are retried", async () => {
    const { sampler } = open.engine;
    await sampler.preload(tiny);
    const pid = open.pids("sampling").at(-1) ?? 0;
    const quiet = sampler.generate(ask({ maxTokens: 300 }));
    const streaming = sampler.generate(ask({ maxTokens: 300 }), { onChunk: () => process.kill(pid, "SIGKILL") });
    await expect(streaming).rejects.toMatchObject({ code: "failed", message: "the sampling process ended by SIGKILL" });
    expect((await quiet).completions.map(({ tokens }) => tokens.length)).toEqual([300, 300]);
    expect(open.pids("sampling")).toHaveLength(2);
    expect(await open.engine.health()).toEqual({ ok: true });
  });

  it("exceeds its memory limit, the error says so", async () => {
    const before = process.env["NODE_OPTIONS"];
    process.env["NODE_OPTIONS"] = "--max-old-space-size=1";
    try {
      await expect(open.engine.openTrainer({ weights: tiny, seed: 1 })).rejects.toMatchObject({
        code: "failed",
        message: expect.stringContaining("ran out of memory"),
      });
    } finally {
      if (before === undefined) delete process.env["NODE_OPTIONS"];
      else process.env["NODE_OPTIONS"] = before;
    }
    expect(open.log.join("\n")).toMatch(/the training process \(\d+\): .*(?:OOM|out of memory)/u);
  });
});

it("a process that was stopped is killed within the limit, and reported", async () => {
  const open = await openEngine({ heartbeatTimeoutMs: 2000 });
  const trainer = await open.engine.openTrainer({ weights: tiny, seed: 1 });
  const [pid = 0] = open.pids("training");
  process.kill(pid, "SIGSTOP");
  await expect(trainer.logprobs(sequences(1, 8))).rejects.toMatchObject({
    code: "failed",
    message: "the training process was killed: it sent no heartbeat for 2 s",
  });
  expect(isRunning(pid)).toBe(false);
  await open.close();
});

it("no process of the engine outlives a killed service", async () => {
  const script = fileURLToPath(new URL("../../test/engine-parent.ts", import.meta.url));
  // Files of the killed process are removed with this directory.
  const directory = mkdtempSync(join(tmpdir(), "heddle-parent-"));
  const parent = spawn(process.execPath, [...fromSource, script], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, TMPDIR: directory },
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const pids = JSON.parse(line.toString("utf8")) as number[];
  expect(pids.map(isRunning)).toEqual([true, true]);
  parent.kill("SIGKILL");
  await expect.poll(() => pids.map(isRunning), { timeout: 10_000 }).toEqual([false, false]);
  rmSync(directory, { recursive: true });
});

it("an engine without onnxruntime-node opens, reports the reason, and rejects calls with it", () => {
  const hook = `export const resolve = (name, context, next) => {
    if (name !== "onnxruntime-node") return next(name, context);
    throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  }`;
  const script = `
    import { register } from "node:module";
    register("data:text/javascript," + encodeURIComponent(${JSON.stringify(hook)}));
    const { openEmbeddedEngine } = await import(${JSON.stringify(`${inject("compiled")}/@heddle/embedded-engine/dist/engine.js`)});
    const engine = await openEmbeddedEngine({ models: {} });
    const failures = [
      engine.openTrainer({ weights: { baseModel: "random:tiny" }, seed: 1 }),
      engine.sampler.generate({}),
      engine.sampler.preload({}),
    ].map((call) => call.catch(({ code, message }) => ({ code, message })));
    console.log(JSON.stringify({
      health: await engine.health(),
      capabilities: await engine.capabilities(),
      failures: await Promise.all(failures),
    }));
    await engine.close();`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    encoding: "utf8",
  });
  const { health, capabilities, failures } = JSON.parse(stdout) as Record<string, unknown>;
  const detail: unknown = expect.stringMatching(/^The embedded training engine needs .*onnxruntime-node.*\.$/u);
  expect(health).toEqual({ ok: false, detail });
  const unavailableModels: unknown = expect.arrayContaining([{ name: "heddle/starter", reason: detail }]);
  expect(capabilities).toEqual({ models: [], unavailableModels });
  expect(failures).toEqual(Array.from({ length: 3 }, () => ({ code: "unsupported", message: detail })));
});
