import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { transform } from "esbuild";
import { afterAll, expect, inject, test, vi } from "vitest";
import { documentedSettings } from "../src/config/config.js";
import { version } from "../src/boot/version.js";
import { finished, heddle } from "./faults/heddle-process.js";

// Every step starts processes; on a crowded machine that takes its time.
vi.setConfig({ testTimeout: 120_000 });

// `heddle …` as an operator types it, in processes of their own; no service is started.
const directory = mkdtempSync(join(tmpdir(), "heddle-commands-"));
// Other users may enter it.
chmodSync(directory, 0o755);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const run = async (args: string[], env: Record<string, string> = {}, uid?: number) =>
  finished(heddle(args, { HEDDLE_DATA_DIR: join(directory, "data"), HOME: directory, ...env }, { uid }));

test("help and version are printed, whatever the settings are", async () => {
  const wrong = { HEDDLE_PORT: "many" };
  const [help, short, serve, keys, backup, long, v] = await Promise.all([
    run(["--help"], wrong),
    run(["help"], wrong),
    run(["serve", "--help"], wrong),
    run(["keys", "create", "-h"], wrong),
    run(["help", "backup"], wrong),
    run(["--version"], wrong),
    run(["-v"], wrong),
  ]);
  for (const { code, err } of [help, short, serve, keys, backup, long, v])
    expect({ code, err }).toEqual({ code: 0, err: "" });
  expect(help.out).toMatch(/^heddle \[COMMAND\]/);
  for (const name of ["serve", "keys", "backup", "restore"])
    expect(help.out).toMatch(new RegExp(`^  ${name} +[a-z]`, "m"));
  expect(short.out).toBe(help.out);
  expect(keys.out).toContain("--project [ENTITY/]NAME");
  expect(backup.out).toMatch(/^heddle backup TO\n/);
  expect([long.out, v.out]).toEqual([`${version}\n`, `${version}\n`]);

  for (const { name, default: value } of documentedSettings) {
    expect(serve.out).toContain(`  ${name}  (default: ${value})\n      `);
  }
  expect(Math.max(...serve.out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
});

test("an invalid command line ends with status 2 and names what was meant", async () => {
  const cases: [string[], string][] = [
    [["serv"], 'heddle: unknown command "serv", did you mean serve?\n\nheddle [COMMAND]'],
    [["dance"], 'heddle: unknown command "dance"\n\nheddle [COMMAND]'],
    [["--port=80"], 'heddle: unknown option "--port=80"\n\n'],
    [
      ["serve", "--port=80"],
      'heddle: serve takes no argument "--port=80". Set the environment variable HEDDLE_PORT.\n',
    ],
    [["serve", "now"], 'heddle: serve takes no argument "now". See heddle serve --help.\n'],
    [["backup"], "heddle: one directory is needed\n\nheddle backup TO"],
  ];
  const results = await Promise.all(cases.map(async ([args]) => run(args)));
  for (const [index, { code, out, err }] of results.entries()) {
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(cases[index]?.[1]);
  }
});

test("a data directory that is missing, or that another user keeps, is one line and status 1", async () => {
  const root = process.getuid?.() === 0;
  const sealed = join(directory, "sealed");
  mkdirSync(sealed, { mode: root ? 0o755 : 0o555 });
  writeFileSync(join(sealed, "control.db"), "");
  const env = { HEDDLE_DATA_DIR: sealed };
  const missing = `heddle: there is no data directory ${join(directory, "data")}. Set HEDDLE_DATA_DIR to that of the service.\n`;
  const nobody = root ? 65_534 : undefined;
  const [keys, backup, sealedKeys, sealedServe, sealedRestore] = await Promise.all([
    run(["keys", "list"]),
    run(["backup", join(directory, "backup")]),
    run(["keys", "list"], env, nobody),
    run(["serve"], env, nobody),
    run(["restore", join(directory, "no-backup")], env, nobody),
  ]);
  expect([keys, backup]).toEqual([keys, backup].map(() => ({ code: 1, out: "", err: missing })));
  for (const { code, err } of [sealedKeys, sealedServe]) {
    expect(code).toBe(1);
    expect(err).toMatch(
      /^heddle: cannot write in the data directory \S+sealed: EACCES: [^\n]* Set HEDDLE_DATA_DIR\.\n$/,
    );
    if (root) expect(err).toContain("(it belongs to user 0, this is user 65534)");
  }
  expect(sealedRestore).toMatchObject({ code: 1, out: "" });
  expect(sealedRestore.err).toMatch(/^heddle: [^\n]*no-backup[^\n]*\n$/);
});

// The check of the version has to run on releases that the rest would not even parse on.
test("a Node.js that is too old is one line", async () => {
  const main = join(inject("compiled"), "@heddle/service/dist/main.js");
  const code = readFileSync(main, "utf8");
  const [asWritten, forOldNode] = await Promise.all([
    transform(code, { format: "esm", target: "esnext" }),
    transform(code, { format: "esm", target: "node12.20" }),
  ]);
  expect(forOldNode.code).toBe(asWritten.code);
  expect(code).not.toMatch(/^import\s/m);

  const { engines } = JSON.parse(readFileSync(join(main, "../../package.json"), "utf8")) as {
    engines: { node: string };
  };
  const oldest = engines.node.replace(">=", "");
  const preload = join(directory, "old-node.cjs");
  writeFileSync(
    preload,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: process.env.AS_NODE } });`,
  );
  const asNode = async (version: string) =>
    run(["--version"], { NODE_OPTIONS: `--require ${preload}`, AS_NODE: version });
  const [older, minor, first] = await Promise.all([asNode("18.20.8"), asNode("20.18.3"), asNode(`${oldest}.0`)]);
  for (const [{ code: status, out, err }, name] of [
    [older, "18.20.8"],
    [minor, "20.18.3"],
  ] as const) {
    expect({ status, out }).toEqual({ status: 1, out: "" });
    expect(err).toBe(`heddle: Node.js ${oldest} or newer is needed. ${process.execPath} is ${name}.\n`);
  }
  expect(first).toMatchObject({ code: 0, out: `${version}\n` });
});
