import { execFile } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { Graph } from "./graph/onnx.js";
import { discard, unavailableReason, openSession, tensor } from "./session.js";

const sourceOptions = ["--conditions", "@heddle/source", "--import", import.meta.resolve("tsx")];

test("a graph with a symbolic dimension runs at several lengths", async () => {
  expect(await unavailableReason()).toBeUndefined();
  const graph = new Graph();
  const x = graph.input("x", ["rows", 2]);
  const { left, right } = graph.ops("Split", [x, graph.integers(1, 1)], { axis: 1 }, ["left", "right"]);
  graph.output("sum", graph.op("Add", [left, right]), ["rows", 1]);
  graph.output("smooth", graph.op("com.microsoft.QuickGelu", [left], { alpha: { float: 1 } }), ["rows", 1]);
  graph.output("again", x, ["rows", 2]);
  const session = await openSession(graph.build(), { threads: 1 });
  for (const rows of [1, 3]) {
    const data = Float32Array.from({ length: rows * 2 }, (_, i) => i);
    const { sum, smooth, again } = await session.run({ x: tensor("float32", data, [rows, 2]) });
    expect(sum?.dims).toEqual([rows, 1]);
    expect([...(sum?.data ?? [])]).toEqual(Array.from({ length: rows }, (_, i) => 4 * i + 1));
    expect(smooth?.data[0]).toBe(0);
    expect(again?.data).toEqual(data);
  }
  await session.release();
});

test("preallocated outputs are filled and returned", async () => {
  const graph = new Graph();
  const x = graph.input("x", [2], "int32");
  graph.output("y", graph.op("Neg", [x]), [2], "int32");
  const session = await openSession(graph.build(), { threads: 1 });
  const y = tensor("int32", new Int32Array(2), [2]);
  const results = await session.run({ x: tensor("int32", Int32Array.of(5, -7), [2]) }, { y });
  expect(results.y).toBe(y);
  expect([...y.data]).toEqual([-5, 7]);
  await session.release();
});

test("an invalid graph is refused with the reason of the library", async () => {
  const graph = new Graph();
  graph.output("y", graph.op("NoSuchOperator", [graph.input("x", [1])]), [1]);
  await expect(openSession(graph.build(), { threads: 1 })).rejects.toMatchObject({
    code: "failed",
    message: expect.stringContaining("NoSuchOperator"),
  });
});

test("an input of a wrong shape fails the run and not the session", async () => {
  const graph = new Graph();
  graph.output("y", graph.op("Neg", [graph.input("x", [2])]), [2]);
  const session = await openSession(graph.build(), { threads: 1 });
  await expect(session.run({ x: tensor("float32", new Float32Array(3), [3]) })).rejects.toMatchObject({
    code: "failed",
  });
  const { y } = await session.run({ x: tensor("float32", Float32Array.of(1, 2), [2]) });
  expect([...(y?.data ?? [])]).toEqual([-1, -2]);
  await session.release();
});

test("discarded arrays are freed immediately", async () => {
  const graph = new Graph();
  const x = graph.input("x", [1]);
  graph.output("y", graph.op("Expand", [x, graph.integers(2 ** 22)]), [2 ** 22]);
  const session = await openSession(graph.build(), { threads: 1 });
  const feeds = { x: tensor("float32", Float32Array.of(3), [1]) };
  const before = process.memoryUsage().arrayBuffers;
  for (let i = 0; i < 20; i++) {
    const outputs = await session.run(feeds);
    expect(outputs["y"]?.data[7]).toBe(3);
    discard(Object.values(outputs));
    expect(outputs["y"]?.data).toHaveLength(0);
  }
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 24);
  await session.release();
});

// What the library would send is first written to the home directory and the working directory.
test("no usage data is collected", async () => {
  const directory = await mkdtemp(join(tmpdir(), "heddle-usage-data-"));
  try {
    const program = `import { Graph } from ${JSON.stringify(import.meta.resolve("./graph/onnx.ts"))};
      import { openSession } from ${JSON.stringify(import.meta.resolve("./session.ts"))};
      const graph = new Graph();
      graph.output("y", graph.op("Neg", [graph.input("x", [1])]), [1]);
      await (await openSession(graph.build(), { threads: 1 })).release();`;
    const env = { PATH: process.env["PATH"], HOME: directory, TMPDIR: directory };
    const options = [...sourceOptions, "--input-type=module", "-e", program];
    await promisify(execFile)(process.execPath, options, { cwd: directory, env });
    expect((await readdir(directory)).filter((name) => !name.startsWith("tsx-"))).toEqual([]);
  } finally {
    await rm(directory, { recursive: true });
  }
}, 60_000);

test("without the library, one sentence states the reason and the remedy", async () => {
  // The module in a directory from which only the package of errors is found.
  const errors = fileURLToPath(new URL("../../errors", import.meta.url));
  const directory = await mkdtemp(join(tmpdir(), "heddle-missing-"));
  try {
    await copyFile(new URL("session.ts", import.meta.url), join(directory, "session.mts"));
    await mkdir(join(directory, "node_modules/@heddle"), { recursive: true });
    await symlink(errors, join(directory, "node_modules/@heddle/errors"));
    const program = `import { unavailableReason, openSession } from "./session.mts";
      console.log(await unavailableReason());
      openSession(new Uint8Array(), { threads: 1 }).catch((error) => console.log(error.code));`;
    const options = [...sourceOptions, "--input-type=module", "-e", program];
    const { stdout } = await promisify(execFile)(process.execPath, options, { cwd: directory });
    expect(stdout).toMatch(
      /^The embedded .* onnxruntime-node, which is not installed: .* HEDDLE_TRAINER_URL\.\nunsupported\n$/,
    );
  } finally {
    await rm(directory, { recursive: true });
  }
}, 60_000);
