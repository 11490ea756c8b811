import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { ControlPlane, ControlPlaneOptions, LeaseHolder } from "../src/index.js";
import { trainingModels } from "../src/migrations/0005-training-models.js";
import { trainingJobs } from "../src/migrations/0006-training-jobs.js";
import { preferenceJobs } from "../src/migrations/0022-preference-jobs.js";
import { migrate } from "../src/migrations/migrate.js";
import { openDatabase } from "../src/database/open-database.js";

/** What a user may expect of any backend. `make` gives the URL of an empty database. */
export function controlPlaneCases(backEnd: string, make: () => Promise<string>): void {
  const fresh = async (options: Omit<ControlPlaneOptions, "url"> = {}) => await open({ url: await make(), ...options });

  describe(`a control plane on ${backEnd}`, () => {
    test("keeps its identity, users, keys and projects over a restart", async () => {
      const url = await make();
      const first = await openControlPlane({ url });
      const { key, secret } = await first.keys.create({ user_name: "ana", entity: "acme", role: "write", name: "ci" });
      const project = await first.projects.ensure("acme", "demo");
      await first.close();

      const second = await open({ url });
      expect(second.identity).toBe(first.identity);
      expect(await second.keys.verify(secret)).toMatchObject({ user_name: "ana", user_id: key.user_id });
      expect(await second.keys.list()).toMatchObject([{ id: key.id, name: "ci", prefix: secret.slice(0, 6) }]);
      expect(await second.projects.byId(project.id)).toEqual(project);
      expect(await second.projects.ensure("acme", "demo")).toEqual(project);
    });

    test("two databases have two identities", async () => {
      expect((await fresh()).identity).not.toBe((await fresh()).identity);
    });

    test("a key works until it is revoked, and its secret is stored nowhere", async () => {
      const url = await make();
      const plane = await open({ url });
      const request = { user_name: "ana", entity: "acme", role: "read", projects: ["demo", "other"] } as const;
      const { key, secret } = await plane.keys.create(request);
      expect(secret).toMatch(/^[A-Za-z0-9]{40}$/);
      const { id, user_id } = key;
      const caller = { key_id: id, user_id, user_name: "ana", entity: "acme", role: "read", owner: false };
      expect(await plane.keys.verify(secret)).toEqual({ ...caller, projects: ["demo", "other"] });
      expect(await plane.keys.verify(`${secret}x`)).toBeUndefined();
      expect(await plane.keys.verify("")).toBeUndefined();

      const database = openDatabase(url);
      const rows = await database.rows("SELECT * FROM api_keys");
      await database.close();
      expect(Object.values(rows[0] ?? {}).join(" ")).not.toContain(secret);

      const revoked = await plane.keys.revoke(key.id);
      expect(revoked.revoked_at).toBeTypeOf("bigint");
      expect(await plane.keys.verify(secret)).toBeUndefined();
      expect(await plane.keys.revoke(key.id)).toEqual(revoked);
      await expect(plane.keys.revoke("no such key")).rejects.toMatchObject({ code: "not_found" });
    });

    test("keys are found by id and entity, renamed and described without their secret", async () => {
      const plane = await fresh({ owner: { secret: "o".repeat(40), entity: "home" } });
      const request = { user_name: "ana", entity: "acme", role: "read", name: "ci" } as const;
      const { key, secret } = await plane.keys.create(request);
      await plane.keys.create({ ...request, entity: "rival" });
      expect(await plane.keys.list("acme")).toEqual([key]);
      expect(await plane.keys.get(key.id)).toEqual(key);
      for (const id of ["owner", "none", "\u0000"]) expect(await plane.keys.get(id)).toBeUndefined();
      expect(await plane.keys.rename(key.id, "build")).toEqual({ ...key, name: "build" });
      await expect(plane.keys.rename("none", "x")).rejects.toMatchObject({ code: "not_found" });
      await expect(plane.keys.rename(key.id, "\n")).rejects.toMatchObject({ code: "unprocessable" });
      const [caller, owner] = [await plane.keys.verify(secret), await plane.keys.verify("o".repeat(40))];
      expect(await plane.keys.describe(caller!)).toEqual({ prefix: secret.slice(0, 6), name: "build" });
      expect(await plane.keys.describe(owner!)).toEqual({ prefix: "oooooo", name: "owner key" });
    });

    test("projects come in pages by entity and name, and by a part of the name", async () => {
      const plane = await fresh();
      for (const [entity, name] of [
        ["a", "x"],
        ["a", "X_1"],
        ["a", "y%"],
        ["b", "x"],
      ] as const)
        await plane.projects.ensure(entity, name);
      const all: string[] = [];
      let after: { entity: string; name: string } | undefined;
      for (;;) {
        const page = await plane.projects.query({ limit: 1, after });
        all.push(...page.projects.map(({ project_id }) => project_id));
        after = page.projects.at(-1);
        if (!page.has_more) break;
      }
      expect(all).toHaveLength(4);
      expect(all.toSorted()).toEqual(["a/X_1", "a/x", "a/y%", "b/x"]);
      expect(all.at(-1)).toBe("b/x");
      const found = async (request: object) =>
        (await plane.projects.query({ limit: 9, ...request })).projects.map(({ project_id }) => project_id).toSorted();
      expect(await found({ entity: "a", name_contains: "x" })).toEqual(["a/X_1", "a/x"]);
      expect(await found({ name_contains: "_" })).toEqual(["a/X_1"]);
      expect(await found({ name_contains: "%" })).toEqual(["a/y%"]);
      expect(await found({ name_contains: "\\" })).toEqual([]);
      expect(await found({ names: ["x"] })).toEqual(["a/x", "b/x"]);
      expect(await found({ entity: "\u0000" })).toEqual([]);
    });

    test("secrets differ, and keys of one name belong to one user", async () => {
      const plane = await fresh();
      const request = { user_name: "ana", entity: "acme", role: "write" } as const;
      const created = await Promise.all(Array.from({ length: 5 }, async () => await plane.keys.create(request)));
      expect(new Set(created.map(({ secret }) => secret)).size).toBe(5);
      expect(new Set(created.map(({ key }) => key.user_id)).size).toBe(1);
      expect(await plane.users.list()).toMatchObject([{ name: "ana" }]);
    });

    test("a key revoked by another process stops working within a second", async () => {
      const url = await make();
      let time = 1_000_000_000n;
      const service = await open({ url, now: () => time });
      const command = await open({ url });
      const { key, secret } = await command.keys.create({ user_name: "ana", entity: "acme", role: "admin" });
      expect(await service.keys.verify(secret)).toBeDefined();
      await command.keys.revoke(key.id);
      time += 1_000_000n;
      expect(await service.keys.verify(secret)).toBeUndefined();
    });

    test("a clock that is set back keeps no revoked key alive, and notes its uses", async () => {
      const url = await make();
      let time = 1_000_000_000_000n;
      const service = await open({ url, now: () => time });
      const command = await open({ url });
      const { key, secret } = await command.keys.create({ user_name: "ana", entity: "acme", role: "admin" });
      expect(await service.keys.verify(secret)).toBeDefined();
      expect(await service.keys.checkId(key.id)).toHaveProperty("caller");
      time -= 3_600_000_000n;
      await delay(1001);
      expect(await service.keys.verify(secret)).toBeDefined();
      expect(await command.keys.list()).toMatchObject([{ last_used_at: time }]);
      await command.keys.revoke(key.id);
      await delay(1001);
      expect(await service.keys.verify(secret)).toBeUndefined();
      expect(await service.keys.checkId(key.id)).toEqual({ refused: "revoked", key_id: key.id });
    });

    test("a key is also known by its id, and what refuses one is told apart", async () => {
      const owner = { secret: "o".repeat(40), entity: "local" };
      const plane = await fresh({ owner });
      const { key, secret } = await plane.keys.create({ user_name: "ana", entity: "acme", role: "write" });
      expect(await plane.keys.checkId(key.id)).toEqual(await plane.keys.check(secret));
      expect(await plane.keys.checkId("owner")).toEqual(await plane.keys.check(owner.secret));
      await plane.keys.revoke(key.id);
      const revoked = { refused: "revoked", key_id: key.id };
      expect([await plane.keys.check(secret), await plane.keys.checkId(key.id)]).toEqual([revoked, revoked]);
      expect(await plane.keys.check("unknown")).toEqual({ refused: "unknown" });
      expect(await plane.keys.checkId(secret)).toEqual({ refused: "unknown" });
    });

    test("a URL is signed in the name of one key, and those of an owner key end with it", async () => {
      const url = await make();
      const owned = async (letter: string) =>
        await open({ url, owner: { secret: letter.repeat(40), entity: "local" } });
      const [before, again, after] = [await owned("a"), await owned("a"), await owned("b")];
      const [mine, owners] = [before.urlSignatures.sign("key", "text"), before.urlSignatures.sign("owner", "text")];
      for (const plane of [before, again]) {
        expect(plane.urlSignatures.verify("key", "text", mine)).toBe(true);
        expect(plane.urlSignatures.verify("owner", "text", owners)).toBe(true);
        expect(plane.urlSignatures.verify("other", "text", mine)).toBe(false);
        expect(plane.urlSignatures.verify("key", "texts", mine)).toBe(false);
        expect(plane.urlSignatures.verify("key", "text", "")).toBe(false);
      }
      expect(after.urlSignatures.verify("key", "text", mine)).toBe(true);
      expect(after.urlSignatures.verify("owner", "text", owners)).toBe(false);
    });

    test("the last use of a key is noted, every ten minutes at most", async () => {
      let time = 1_000_000_000n;
      const plane = await fresh({ now: () => time });
      const { secret } = await plane.keys.create({ user_name: "ana", entity: "acme", role: "read" });
      const lastUse = async () => (await plane.keys.list())[0]?.last_used_at;
      expect(await lastUse()).toBeUndefined();
      await plane.keys.verify(secret);
      const first = time;
      expect(await lastUse()).toBe(first);
      time += 599_000_000n;
      await plane.keys.verify(secret);
      expect(await lastUse()).toBe(first);
      time += 2_000_000n;
      await plane.keys.verify(secret);
      expect(await lastUse()).toBe(time);
    });

    test("the owner key opens everything and is not in the list of keys", async () => {
      const secret = "o".repeat(40);
      const plane = await fresh({ owner: { secret, entity: "local" } });
      const user = await plane.users.ensure("owner");
      const caller = {
        key_id: "owner",
        user_id: user.id,
        user_name: "owner",
        entity: "local",
        role: "admin",
        owner: true,
      };
      expect(await plane.keys.verify(secret)).toEqual(caller);
      expect(await plane.keys.verify("o".repeat(41))).toBeUndefined();
      expect(await plane.keys.list()).toEqual([]);
    });

    test("keys without a project, a user or a known role are refused, with the argument named", async () => {
      const plane = await fresh();
      const good = { user_name: "ana", entity: "acme", role: "read" } as const;
      const refused = async (request: object, loc: unknown[]) =>
        await expect(plane.keys.create({ ...good, ...request })).rejects.toMatchObject({ code: "unprocessable", loc });
      await refused({ role: "root" }, ["role"]);
      await refused({ projects: [] }, ["projects"]);
      await refused({ projects: ["a", "b/c"] }, ["projects", 1]);
      await refused({ entity: "a/b" }, ["entity"]);
      for (const step of [".", ".."]) await refused({ entity: step }, ["entity"]);
      await refused({ user_name: " " }, ["user_name"]);
      await refused({ name: "x".repeat(257) }, ["name"]);
      expect(await plane.keys.list()).toEqual([]);
    });

    test("names that a database would cut or change are refused, others come back as they were", async () => {
      const plane = await fresh();
      for (const name of ["nul\0", "\ud800lone", "lone\udc00", "line\nbreak", "", "x".repeat(257)]) {
        await expect(plane.users.ensure(name)).rejects.toMatchObject({ code: "unprocessable" });
        await expect(plane.projects.ensure("acme", name)).rejects.toMatchObject({ code: "unprocessable" });
        await expect(plane.projects.ensure(name, "demo")).rejects.toMatchObject({ code: "unprocessable" });
      }
      for (const name of ["Zoë", "日本語", "🙂", "'; DROP TABLE users; --", "$1", " spaced ", "ANA", "ana"]) {
        expect((await plane.users.ensure(name)).name).toBe(name);
        expect((await plane.projects.ensure("acme", name)).project_id).toBe(`acme/${name}`);
      }
      expect(await plane.users.list()).toHaveLength(8);
    });

    test("what no backend can store is not found", async () => {
      const plane = await fresh();
      for (const text of ["nul\0", "\ud800lone", "a/b", "x".repeat(5000)]) {
        expect(await plane.users.get(text)).toBeUndefined();
        expect(await plane.projects.get("acme", text)).toBeUndefined();
        expect(await plane.projects.get(text, "demo")).toBeUndefined();
        expect(await plane.projects.byId(text)).toBeUndefined();
        await expect(plane.keys.revoke(text)).rejects.toMatchObject({ code: "not_found" });
      }
    });

    test("a project is made once, however many writers come first", async () => {
      const url = await make();
      const planes = await Promise.all([open({ url }), open({ url })]);
      const created = await Promise.all(
        Array.from({ length: 20 }, async (_, i) => await planes[i % 2]?.projects.ensure("acme", "demo")),
      );
      expect(new Set(created.map((project) => project?.id)).size).toBe(1);
      expect(await planes[0].projects.list()).toHaveLength(1);
    });

    test("projects are found by name and internal id, each in its entity", async () => {
      const plane = await fresh();
      const demo = await plane.projects.ensure("acme", "demo");
      const other = await plane.projects.ensure("rival", "demo");
      expect(demo.id).not.toBe(other.id);
      expect(await plane.projects.get("acme", "demo")).toEqual(demo);
      expect(await plane.projects.get("acme", "nothing")).toBeUndefined();
      expect(await plane.projects.get("", "acme/demo")).toBeUndefined();
      expect(await plane.projects.byId(other.id)).toEqual(other);
      expect(await plane.projects.byId("acme/demo")).toBeUndefined();
      expect(await plane.projects.list("rival")).toEqual([other]);
      expect(await plane.projects.list()).toHaveLength(2);
    });

    test("opening twice migrates once, also at the same time", async () => {
      const url = await make();
      await Promise.all([open({ url }), open({ url }), open({ url })]);
      await open({ url });
      const database = openDatabase(url);
      onTestFinished(async () => await database.close());
      expect(await database.rows("SELECT version, name FROM schema_migrations")).toEqual([
        { version: 1n, name: "foundation" },
        { version: 2n, name: "leases" },
        { version: 3n, name: "annotation-queues" },
        { version: 4n, name: "jobs" },
        { version: 5n, name: "training-models" },
        { version: 6n, name: "training-jobs" },
        { version: 7n, name: "artifacts" },
        { version: 8n, name: "tracking-runs" },
        { version: 9n, name: "job-turns" },
        { version: 10n, name: "sessions" },
        { version: 11n, name: "project-deletions" },
        { version: 12n, name: "training-reads" },
        { version: 13n, name: "training-rollouts" },
        { version: 14n, name: "webhooks" },
        { version: 15n, name: "repeatable-requests" },
        { version: 16n, name: "links" },
        { version: 17n, name: "webhook-thresholds" },
        { version: 18n, name: "webhook-positions" },
        { version: 19n, name: "lease-addresses" },
        { version: 20n, name: "job-beats" },
        { version: 21n, name: "bounded-texts" },
        { version: 22n, name: "preference-jobs" },
        { version: 23n, name: "model-origins" },
        { version: 24n, name: "project-shards" },
      ]);
    });

    test("a database of a newer version is refused and left as it is", async () => {
      const url = await make();
      await (await openControlPlane({ url })).close();
      const database = openDatabase(url);
      onTestFinished(async () => await database.close());
      await database.run("INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)", [
        1000n,
        "from the future",
        0n,
      ]);
      await expect(openControlPlane({ url })).rejects.toMatchObject({
        code: "incompatible",
        message: expect.stringContaining("version 1000"),
      });
      expect(await database.rows("SELECT count(*) AS n FROM schema_migrations")).toEqual([{ n: 25n }]);
    });

    test("training jobs of earlier versions keep their kind, and those of preferences can be stored", async () => {
      const database = openDatabase(await make());
      onTestFinished(async () => await database.close());
      await migrate(database, [trainingModels, trainingJobs], () => 0n);
      await database.run(`INSERT INTO training_models (id, sequence, project_id, name, base_model, run_id, next_step, created_by,
        created_at) VALUES ('m', 1, 'acme/demo', 'agent', 'tiny', 'r', 1, 'ann', 0)`);
      const insert = async (sequence: number, kind: string) =>
        await database.run(
          `INSERT INTO training_jobs (id, sequence, project_id, model_id, kind, request_digest, config, warnings,
            created_by, state, completed_sequences, created_at)
            VALUES ($1, $2, 'acme/demo', 'm', $3, 'd', '{}', '[]', 'ann', 'queued', 0, 0)`,
          [`job${sequence}`, BigInt(sequence), kind],
        );
      await insert(1, "sft");
      await insert(2, "rl");
      await expect(insert(3, "preference")).rejects.toThrow();
      await migrate(database, [trainingModels, trainingJobs, preferenceJobs], () => 0n);
      await insert(3, "preference");
      await expect(insert(4, "other")).rejects.toThrow();
      expect(await database.rows("SELECT kind FROM training_jobs ORDER BY sequence")).toEqual([
        { kind: "sft" },
        { kind: "rl" },
        { kind: "preference" },
      ]);
    });

    test("a program that does not know an addition works on, and one that comes later does not add it again", async () => {
      const database = openDatabase(await make());
      onTestFinished(async () => await database.close());
      const first = { version: 1, name: "first", statements: ["CREATE TABLE kept (id TEXT)"] };
      const added = { name: "added", statements: ["CREATE TABLE more (id TEXT)"] };
      await migrate(database, [first], () => 0n, [added]);
      await migrate(database, [first], () => 0n);
      await migrate(database, [first], () => 0n, [
        added,
        { name: "later", statements: ["CREATE TABLE later (id TEXT)"] },
      ]);
      expect(await database.rows("SELECT name FROM schema_additions ORDER BY name")).toEqual([
        { name: "added" },
        { name: "later" },
      ]);
      const broken = { name: "broken", statements: ["CREATE TABLE half (id TEXT)", "CREATE TABLE half ("] };
      await expect(migrate(database, [first], () => 0n, [broken])).rejects.toThrow();
      await database.run("CREATE TABLE half (id TEXT)");
    });

    test("a migration that fails leaves nothing", async () => {
      const database = openDatabase(await make());
      onTestFinished(async () => await database.close());
      const broken = { version: 1, name: "broken", statements: ["CREATE TABLE half (id TEXT)", "CREATE TABLE half ("] };
      await expect(migrate(database, [broken], () => 0n)).rejects.toThrow();
      await database.run("CREATE TABLE half (id TEXT)");
    });

    test("a lease has one holder, who is named to a second process, until it releases the lease", async () => {
      const url = await make();
      const [first, second] = [await open({ url }), await open({ url })];
      const lease = await first.leases.acquire("thing", { holder: "first", durationMs: 1200 });
      expect(lease.held()).toBe(true);
      await expect(second.leases.acquire("thing", { holder: "second", durationMs: 1200 })).rejects.toMatchObject({
        code: "conflict",
        message: "the thing is in use by first",
      });
      await (await second.leases.acquire("other thing", { holder: "second" })).release();
      await lease.release();
      expect(lease.held()).toBe(false);
      const next = await second.leases.acquire("thing", { holder: "second" });
      expect(next.held()).toBe(true);
      await next.release();
    });

    test("who follows a lease is told where its holder is, and gets it when it is free", async () => {
      const url = await make();
      const [first, second] = [await open({ url }), await open({ url })];
      const options = { holder: "first", address: "http://first", durationMs: 1200 };
      const lease = await first.leases.acquire("thing", options);
      const seen: LeaseHolder[] = [];
      const following = second.leases.follow("thing", {
        holder: "second",
        address: "http://second",
        durationMs: 1200,
        onHolder: (holder) => seen.push(holder),
      });
      await expect.poll(() => seen).toEqual([{ holder: "first", address: "http://first" }]);
      // It renews: a follower waits as long as it does.
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(lease.held()).toBe(true);
      await lease.release();
      const next = await following;
      expect(next?.held()).toBe(true);
      expect(seen).toHaveLength(1);
      await next?.release();
    });

    test("of the followers of a crashed holder one gets the lease, and the others are told of it", async () => {
      const url = await make();
      const crashed = await openControlPlane({ url });
      await crashed.leases.acquire("thing", { holder: "crashed", durationMs: 600_000 });
      await crashed.close();
      const ending = new AbortController();
      const heirs = await Promise.all(
        ["a", "b"].map(async (name) => {
          const seen: string[] = [];
          const onHolder = ({ holder }: LeaseHolder) => seen.push(holder);
          const plane = await open({ url });
          const options = { holder: name, durationMs: 3000, onHolder, signal: ending.signal };
          return { name, seen, lease: plane.leases.follow("thing", options) };
        }),
      );
      const winner = await Promise.race(heirs.map(async (heir) => ({ ...heir, lease: await heir.lease })));
      const other = heirs.find(({ name }) => name !== winner.name);
      await expect.poll(() => other?.seen).toEqual(["crashed", winner.name]);
      ending.abort();
      expect(await other?.lease).toBeUndefined();
      await winner.lease?.release();
    });

    test("the lease of a crashed holder is taken over when it has expired, not before, and by one only", async () => {
      const url = await make();
      const crashed = await openControlPlane({ url });
      await crashed.leases.acquire("thing", { holder: "crashed", durationMs: 600_000 });
      await crashed.close(); // It cannot renew any more.
      const heirs = [await open({ url }), await open({ url })];
      const started = performance.now();
      const waits: string[] = [];
      const options = { durationMs: 900, onWait: (holder: string) => waits.push(holder) };
      const outcomes = await Promise.allSettled(
        heirs.map(async (heir, i) => await heir.leases.acquire("thing", { ...options, holder: `heir ${i}` })),
      );
      expect(performance.now() - started).toBeGreaterThan(900);
      expect(waits).toEqual(["crashed", "crashed"]);
      const refused = outcomes.find(({ status }) => status === "rejected");
      expect(refused).toMatchObject({
        reason: { message: expect.stringMatching(/^the thing is in use by heir [01]$/) },
      });
      for (const outcome of outcomes) if (outcome.status === "fulfilled") await outcome.value.release();
    });

    test("a holder that sleeps too long does not rely on its lease, is notified of the new holder, and never gets it back", async () => {
      const url = await make();
      const [sleeper, heir] = [await open({ url }), await open({ url })];
      const old = await sleeper.leases.acquire("thing", { holder: "sleeper", durationMs: 600_000 });
      const lease = await heir.leases.acquire("thing", { holder: "heir", durationMs: 300 });
      // The sleeper renews each 100 s only: it has not noticed. Its next attempt, at release, must not release the
      // heir's.
      await old.release();
      await expect.poll(() => lease.held()).toBe(true);
      const third = await open({ url });
      await expect(third.leases.acquire("thing", { holder: "third", durationMs: 1200 })).rejects.toThrow("by heir");
      await lease.release();
    });

    test("the loss of a lease is reported with the new holder, and a lapse before the lease is held again", async () => {
      const url = await make();
      const plane = await open({ url });
      let lapses = 0;
      const onLapse = () => (lapses += 1);
      const lease = await plane.leases.acquire("thing", { holder: "us", durationMs: 1500, onLapse });
      // The thread is blocked, as in a suspended process.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1000);
      expect(lease.held()).toBe(false);
      await expect.poll(() => lease.held()).toBe(true);
      expect(lapses).toBeGreaterThan(0);
      const database = openDatabase(url);
      await database.run("UPDATE leases SET holder = $1, token = $1", ["them"]);
      await database.close();
      expect(await lease.lost).toBe("them");
      expect(lease.held()).toBe(false);
      await lease.release();
    });

    test("a lease that cannot be renewed is reported once, with the reason", async () => {
      const plane = await openControlPlane({ url: await make() });
      const failures: Error[] = [];
      const onFailure = (error: Error) => failures.push(error);
      const lease = await plane.leases.acquire("thing", { holder: "us", durationMs: 120, onFailure });
      await plane.close();
      await expect.poll(() => lease.held(), { timeout: 5000 }).toBe(false);
      await new Promise((resolve) => setTimeout(resolve, 100));
      await lease.release();
      expect(failures).toHaveLength(1);
    });

    test("statements outside a transaction wait for its end, and a failed one undoes its own writes only", async () => {
      const database = openDatabase(await make());
      onTestFinished(async () => await database.close());
      await database.run("CREATE TABLE notes (id TEXT PRIMARY KEY, amount BIGINT)");
      const failed = database.transaction(async (inside) => {
        await inside.run("INSERT INTO notes (id, amount) VALUES ($1, $2)", ["inside", 1n]);
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw new Error("changed my mind");
      });
      const outside = database.run("INSERT INTO notes (id, amount) VALUES ($1, $2)", ["outside", 2n ** 53n + 1n]);
      await expect(failed).rejects.toThrow("changed my mind");
      await outside;
      expect(await database.rows("SELECT id, amount FROM notes")).toEqual([{ id: "outside", amount: 2n ** 53n + 1n }]);
    });
  });
}

async function open(options: ControlPlaneOptions): Promise<ControlPlane> {
  const plane = await openControlPlane(options);
  onTestFinished(async () => await plane.close());
  return plane;
}
