import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { ConfigError } from "../config/config-error.js";
import { readConfig } from "../config/config.js";
import { UsageError } from "./command.js";
import { runKeys } from "./keys.js";

const directory = mkdtempSync(join(tmpdir(), "heddle-keys-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function keys(args: string[], data = directory): Promise<string> {
  const lines: string[] = [];
  await runKeys(args, readConfig({ HEDDLE_DATA_DIR: data, HEDDLE_DEFAULT_ENTITY: "home" }), (line) => lines.push(line));
  return lines.join("\n");
}

const create = async (...args: string[]) =>
  /access {2}(.*)/.exec(await keys(["create", "--user", "ann", ...args]))?.[1];

test("a project is named with its entity or without", async () => {
  expect(await create()).toBe("write on home/*");
  expect(await create("--project", "p")).toBe("write on home/p");
  expect(await create("--project", "team/p", "--project", "q")).toBe("write on team/p, team/q");
  expect(await create("--entity", "team", "--project", "team/p", "--role", "read")).toBe("read on team/p");
});

test("projects of two entities are refused, because a key belongs to one", async () => {
  await expect(create("--project", "a/p", "--project", "b/p")).rejects.toThrow("one entity, not to a and b");
  await expect(create("--entity", "a", "--project", "b/p")).rejects.toThrow("one entity, not to a and b");
  await expect(create("--project", "a/b/c")).rejects.toThrow("must not hold a slash");
  await expect(create("--project", "a/")).rejects.toThrow("must not be blank");
  await expect(create("--project", "/p")).rejects.toThrow("must not be blank");
});

test("a new entity is not named like a path of the service", async () => {
  await expect(create("--entity", "v1")).rejects.toThrow("must not be named v1");
  await expect(create("--project", "docs/p")).rejects.toThrow("must not be named docs");
});

test("a misspelt action or option is named", async () => {
  await expect(keys(["crate"])).rejects.toThrow('unknown action "crate", did you mean create?');
  await expect(keys(["list", "all"])).rejects.toThrow('list takes no argument "all"');
  await expect(keys(["create", "--usr", "ann"])).rejects.toThrow(UsageError);
  await expect(keys(["revoke", "a", "b"])).rejects.toThrow("the id of one key");
});

test("a directory that no service has used is refused and stays as it was", async () => {
  const missing = join(directory, "missing");
  await expect(keys(["list"], missing)).rejects.toThrow(
    new ConfigError(`there is no data directory ${missing}. Set HEDDLE_DATA_DIR to that of the service.`),
  );
  const empty = mkdtempSync(join(directory, "empty-"));
  await expect(keys(["list"], empty)).rejects.toThrow(`${empty} has no keys, because no service has used it.`);
  expect(readdirSync(empty)).toEqual([]);
});
