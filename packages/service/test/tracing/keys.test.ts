import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { reservedEntities } from "../../src/access/reserved-entities.js";
import { routes } from "../../src/boot/routes.js";
import { operations } from "../spec-requests.js";
import { openTestService } from "../test-service.js";
import type { TestService } from "../test-service.js";

let service: TestService;
beforeAll(async () => {
  service = await openTestService();
});
afterAll(() => service.close());

const forbidden = { status: 403 };

test("a key is made with its secret, named, listed and revoked", async () => {
  const admin = service.tracing(await service.key({ role: "admin", entity: "made" }));
  const { key, secret } = await admin.keyCreate({ user: "zoë", role: "read", projects: ["p"], name: "laptop" });
  expect(key).toMatchObject({ prefix: secret.slice(0, 6), entity: "made", role: "read", projects: ["p"] });
  expect(await service.tracing(secret).meRead()).toMatchObject({ user: key.user, key: { id: key.id, name: "laptop" } });
  expect((await admin.keyUpdate({ key_id: key.id, name: "" })).key).toMatchObject({ id: key.id, name: "" });
  const listed = (await admin.keyList()).keys.map(({ user, role }) => [user.name, role]);
  expect(listed).toEqual([
    ["alice", "admin"],
    ["zoë", "read"],
  ]);
  const revoked = (await admin.keyRevoke({ key_id: key.id })).key;
  expect(revoked.revoked_at).toEqual(expect.any(String));
  expect((await admin.keyRevoke({ key_id: key.id })).key.revoked_at).toBe(revoked.revoked_at);
  await expect(service.tracing(secret).meRead()).rejects.toMatchObject({ status: 401 });
  expect(JSON.stringify(await admin.keyList())).not.toContain(secret);
});

test("a key that is not an admin sees and makes no keys", async () => {
  for (const role of ["read", "write"] as const) {
    const tracing = service.tracing(await service.key({ role }));
    await expect(tracing.keyList()).rejects.toMatchObject(forbidden);
    await expect(tracing.keyCreate({ user: "x", role: "read" })).rejects.toMatchObject(forbidden);
    await expect(tracing.keyRevoke({ key_id: "x" })).rejects.toMatchObject(forbidden);
    await expect(tracing.keyUpdate({ key_id: "x", name: "" })).rejects.toMatchObject(forbidden);
  }
});

test("no key reaches further than the one that makes it", async () => {
  const admin = service.tracing(await service.key({ role: "admin", entity: "near" }));
  const limited = service.tracing(await service.key({ role: "admin", entity: "near", projects: ["p", "q"] }));
  await expect(admin.keyCreate({ user: "x", role: "read", entity: "far" })).rejects.toMatchObject(forbidden);
  expect((await admin.keyCreate({ user: "x", role: "admin", entity: "near" })).key.entity).toBe("near");
  await expect(limited.keyCreate({ user: "x", role: "read" })).rejects.toMatchObject(forbidden);
  await expect(limited.keyCreate({ user: "x", role: "read", projects: ["p", "r"] })).rejects.toMatchObject(forbidden);
  const { key } = await limited.keyCreate({ user: "x", role: "admin", projects: ["q"] });
  const visible = (await limited.keyList()).keys.map(({ projects }) => projects);
  expect(visible).toEqual([["p", "q"], ["q"]]);
  expect((await limited.keyRevoke({ key_id: key.id })).key.id).toBe(key.id);
  expect((await service.tracing().keyCreate({ user: "x", role: "read", entity: "far" })).key.entity).toBe("far");
});

test("a key that reaches further looks like one that does not exist", async () => {
  const { keys } = service.services.control;
  const { key: whole } = await keys.create({ user_name: "w", entity: "there", role: "read" });
  const limited = service.tracing(await service.key({ role: "admin", entity: "there", projects: ["p"] }));
  const foreign = service.tracing(await service.key({ role: "admin", entity: "elsewhere" }));
  for (const tracing of [limited, foreign]) {
    for (const id of [whole.id, "owner", "missing", "\u0000"]) {
      await expect(tracing.keyRevoke({ key_id: id })).rejects.toMatchObject({ status: 404 });
      await expect(tracing.keyUpdate({ key_id: id, name: "mine" })).rejects.toMatchObject({ status: 404 });
    }
  }
  expect(await keys.get(whole.id)).toMatchObject({ name: "", id: whole.id });
  expect((await keys.get(whole.id))?.revoked_at).toBeUndefined();
});

test("names that no key can have are refused with their place", async () => {
  const tracing = service.tracing();
  for (const wrong of [
    { user: " " },
    { name: "a\u0000" },
    { name: "x".repeat(257) },
    { projects: [] },
    { projects: ["a/b"] },
    { entity: "a/b" },
  ]) {
    const request = { user: "x", role: "read" as const, ...wrong };
    await expect(tracing.keyCreate(request), JSON.stringify(wrong)).rejects.toMatchObject({ status: 422 });
  }
});

test("every first segment of a path is reserved, of the spec and of the routes beside it", () => {
  const paths = [
    ...operations.flatMap(({ path, aliases }) => [path, ...aliases]),
    ...Object.values(routes).flatMap((route) => [...route.paths]),
    "/traces",
    "/console",
  ];
  const segments = new Set(
    paths.map((path) => path.split("/")[1] ?? "").filter((name) => name !== "" && !name.startsWith("{")),
  );
  expect([...segments].filter((name) => !reservedEntities.has(name))).toEqual([]);
});

test("a new entity is not named like a path, and one that exists keeps working", async () => {
  const tracing = service.tracing();
  const request = { user: "x", role: "read" as const, entity: "docs" };
  await expect(tracing.keyCreate(request)).rejects.toMatchObject({ status: 422 });
  await service.services.control.projects.ensure("docs", "old");
  expect((await tracing.keyCreate(request)).key.entity).toBe("docs");
});

test("secrets are in no log and no file but that of the owner key", async () => {
  const { secret } = await service.tracing().keyCreate({ user: "x", role: "read" });
  const directory = service.services.config.dataDir;
  for (const file of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (file.isFile()) expect(readFileSync(join(file.parentPath, file.name)).includes(secret)).toBe(false);
  }
});
