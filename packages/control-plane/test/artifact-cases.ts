import { setImmediate } from "node:timers/promises";
import { createHash, randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { ArtifactContent, Artifacts, ControlPlane, RepeatableVersion } from "../src/index.js";

const project = "acme/demo";
const other = "acme/other";

/** What a user may expect of artifacts on any back end. `make` gives the URL of an empty database. */
export function artifactCases(backEnd: string, make: () => Promise<string>): void {
  async function open(services = 1) {
    const url = await make();
    const clock = { now: 1_775_811_600_000_000n };
    const planes: ControlPlane[] = [];
    for (let n = 0; n < services; n++) planes.push(await openControlPlane({ url, now: () => clock.now }));
    onTestFinished(async () => void (await Promise.all(planes.map(async (plane) => await plane.close()))));
    const all = planes.map((plane) => plane.artifacts);
    const [plane] = planes;
    if (plane === undefined) throw new Error("no service");
    return { plane, all, artifacts: plane.artifacts, clock };
  }

  const contentOf = (text: string): ArtifactContent => ({
    sha256: createHash("sha256").update(text).digest("hex"),
    md5: createHash("md5").update(text).digest("hex"),
    size_bytes: text.length,
  });

  /** Sends a text and returns it as a file. */
  async function send(artifacts: Artifacts, path: string, text: string, projectId = project) {
    const content = contentOf(text);
    await artifacts.addUpload(projectId, content);
    return { path, sha256: content.sha256 };
  }

  async function commit(artifacts: Artifacts, text: string, more: Partial<RepeatableVersion> = {}) {
    const { project_id = project } = more;
    const files = [await send(artifacts, "train.jsonl", text, project_id)];
    return await artifacts.commit({ project_id, name: "data", type: "dataset", files, created_by: "ann", ...more });
  }

  describe(`artifacts on ${backEnd}`, () => {
    test("versions of many files are committed one at a time, with the events of others between them", async () => {
      const { artifacts } = await open();
      const { sha256 } = await send(artifacts, "a", "a");
      const files = Array.from({ length: 600 }, (_, n) => ({ path: `file-${n}`, sha256 }));
      const done = new AbortController();
      const names = Array.from({ length: 8 }, (_, n) => `many-${n}`);
      const all = Promise.all(names.map((name) => commit(artifacts, "a", { name, files }))).finally(() => done.abort());
      let iterations = 0;
      for (; !done.signal.aborted; iterations++) await setImmediate();
      expect((await all).map(({ version }) => version.file_count)).toEqual(names.map(() => 600));
      expect(iterations).toBeGreaterThanOrEqual(names.length);
    });

    test("a version is read as it was committed, by index, alias and digest, and only in its own project", async () => {
      const { artifacts, clock } = await open();
      const files = [
        await send(artifacts, "weights/ü%20 b.bin", "weights"),
        await send(artifacts, "config.json", "{}"),
        await send(artifacts, "copy.json", "{}"),
      ];
      const { version, created } = await artifacts.commit({
        project_id: project,
        name: "tutor",
        type: "lora",
        description: "two\nlines, a nul\0 and \ud800",
        metadata: '{"step":1.0}',
        files,
        aliases: ["step1", "best"],
        created_by: "ann\0",
      });
      expect(created).toBe(true);
      expect(version).toEqual({
        id: expect.any(String),
        project_id: project,
        collection: "tutor",
        type: "lora",
        index: 0,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        description: "two\nlines, a nul\0 and \ud800",
        metadata: '{"step":1.0}',
        size_bytes: 11,
        file_count: 3,
        aliases: ["best", "latest", "step1"],
        created_at: clock.now,
        created_by: "ann\0",
      });
      for (const selector of [undefined, "latest", "v0", "step1", version.digest]) {
        expect(await artifacts.get(project, "tutor", selector)).toEqual(version);
        expect(await artifacts.get(other, "tutor", selector)).toBeUndefined();
      }
      for (const selector of ["v1", "step2", "", "nul\0", "%", "v99999999999999999999", "a".repeat(64)])
        expect(await artifacts.get(project, "tutor", selector)).toBeUndefined();
      expect(await artifacts.byId(version.id)).toEqual(version);
      expect(await artifacts.byId("nul\0")).toBeUndefined();

      const listed = await artifacts.listFiles({ version_id: version.id, limit: 10 });
      expect(listed).toEqual([
        { path: "config.json", ...contentOf("{}") },
        { path: "copy.json", ...contentOf("{}") },
        { path: "weights/ü%20 b.bin", ...contentOf("weights") },
      ]);
      expect(await artifacts.listFiles({ version_id: version.id, after: "config.json", limit: 1 })).toEqual([
        listed[1],
      ]);
      expect(await artifacts.getFile(version.id, "weights/ü%20 b.bin")).toEqual(listed[2]);
      expect(await artifacts.getFile(version.id, "nul\0")).toBeUndefined();
    });

    test("each commit makes the next version and takes latest and the aliases, unless the newest has the same files", async () => {
      const { artifacts } = await open();
      const first = await commit(artifacts, "a", { aliases: ["best"] });
      const again = await commit(artifacts, "a", { deduplicate: true, aliases: ["latest", "again"], metadata: "[]" });
      expect(again).toEqual({ created: false, version: { ...first.version, aliases: ["again", "best", "latest"] } });
      const second = await commit(artifacts, "b", { aliases: ["best"], deduplicate: true });
      expect(second).toMatchObject({ created: true, version: { index: 1, aliases: ["best", "latest"] } });
      expect(await commit(artifacts, "a", { deduplicate: true })).toMatchObject({
        created: true,
        version: { index: 2 },
      });
      expect(await commit(artifacts, "a")).toMatchObject({ created: true, version: { index: 3 } });
      const pageOf = async (page: object) =>
        await artifacts.page({ project_id: project, name: "data", limit: 10, order: "desc", ...page });
      const { versions, has_more } = await pageOf({});
      expect(has_more).toBe(false);
      expect(versions.map(({ index, aliases }) => [index, aliases])).toEqual([
        [3, ["latest"]],
        [2, []],
        [1, ["best"]],
        [0, ["again"]],
      ]);
      const page = await pageOf({ after: versions[1]?.id, limit: 1 });
      expect(page).toEqual({ versions: [versions[2]], has_more: true });
      const cursor = { code: "invalid", loc: ["after"] };
      await expect(pageOf({ after: first.version.digest })).rejects.toMatchObject(cursor);
      await expect(pageOf({ name: "other" })).rejects.toMatchObject({ code: "not_found" });
      expect(await artifacts.get(project, "data", first.version.digest)).toMatchObject({ index: 3 });
    });

    test("an index is not used again after its version was deleted, and latest passes to the version before", async () => {
      const { artifacts } = await open();
      await commit(artifacts, "a");
      await commit(artifacts, "b", { aliases: ["best"] });
      expect(await artifacts.delete(project, "data", "best")).toMatchObject({ index: 1 });
      await expect(artifacts.delete(project, "data", "v1")).rejects.toMatchObject({ code: "not_found" });
      expect(await artifacts.get(project, "data", "best")).toBeUndefined();
      expect(await artifacts.get(project, "data")).toMatchObject({ index: 0, aliases: ["latest"] });
      expect((await commit(artifacts, "c")).version).toMatchObject({ index: 2, aliases: ["latest"] });
      expect(await artifacts.delete(project, "data", "v0")).toMatchObject({ index: 0 });
      expect(await artifacts.get(project, "data")).toMatchObject({ index: 2, aliases: ["latest"] });
      await artifacts.delete(project, "data", "latest");
      expect(await artifacts.get(project, "data")).toBeUndefined();
      expect((await commit(artifacts, "c")).version.index).toBe(3);
    });

    test("a version that is a checkpoint of a model is deleted with the checkpoint or the model, not before", async () => {
      const { plane, artifacts } = await open();
      const models = plane.trainingModels;
      const { model } = await models.create({
        id: randomUUID(),
        project_id: project,
        name: "tutor",
        base_model: "heddle/starter",
        run_id: "tutor",
        created_by: "ann",
        checkpoint_id: randomUUID(),
      });
      const lora = { name: "tutor", type: "lora" };
      const add = async (text: string) => {
        const { version } = await commit(artifacts, text, lora);
        await models.checkpoints.add({
          id: randomUUID(),
          model_id: model.id,
          metrics: {},
          artifact_version: version.id,
          weights_digest: version.digest,
          job_id: randomUUID(),
        });
      };
      await add("a");
      await add("b");
      await commit(artifacts, "c", lora);
      const refused = { code: "conflict", message: expect.stringContaining("of the model tutor") };
      await expect(artifacts.delete(project, "tutor", "v0")).rejects.toMatchObject(refused);
      await expect(artifacts.deleteCollection(project, "tutor")).rejects.toMatchObject(refused);
      expect(await artifacts.delete(project, "tutor", "v2")).toMatchObject({ index: 2 });
      await models.checkpoints.delete(model.id, [1]);
      expect(await artifacts.delete(project, "tutor", "v0")).toMatchObject({ index: 0 });
      await models.delete(model.id);
      expect(await artifacts.deleteCollection(project, "tutor")).toBe(true);
    });

    test("a version is described anew without becoming another one", async () => {
      const { artifacts } = await open();
      const { version } = await commit(artifacts, "a", { description: "first", metadata: "{}" });
      await artifacts.describe(version, { metadata: '{"rows":1}' });
      expect(await artifacts.get(project, "data")).toEqual({ ...version, metadata: '{"rows":1}' });
      await artifacts.describe(version, { description: "second" });
      expect(await artifacts.byId(version.id)).toMatchObject({ description: "second", metadata: '{"rows":1}' });
      const tooLong = artifacts.describe(version, { metadata: JSON.stringify("x".repeat(2 ** 24)) });
      await expect(tooLong).rejects.toMatchObject({ code: "too_large", loc: ["metadata"] });
      await expect(artifacts.describe({ ...version, index: 7 }, {})).rejects.toMatchObject({ code: "not_found" });
    });

    test("an alias is moved and removed by hand, latest is not", async () => {
      const { artifacts } = await open();
      await commit(artifacts, "a");
      await commit(artifacts, "b");
      const alias = { project_id: project, name: "data", alias: "best" };
      expect(await artifacts.setAlias(alias, "v0")).toMatchObject({ index: 0, aliases: ["best"] });
      expect(await artifacts.setAlias(alias, "latest")).toMatchObject({ index: 1, aliases: ["best", "latest"] });
      await artifacts.deleteAlias(alias);
      expect(await artifacts.get(project, "data")).toMatchObject({ aliases: ["latest"] });
      await expect(artifacts.deleteAlias(alias)).rejects.toMatchObject({ code: "not_found" });
      await expect(artifacts.setAlias(alias, "v7")).rejects.toMatchObject({ code: "not_found" });
      await expect(artifacts.setAlias({ ...alias, project_id: other }, "v0")).rejects.toMatchObject({
        code: "not_found",
      });
      const latest = { code: "unprocessable", loc: ["alias"] };
      await expect(artifacts.setAlias({ ...alias, alias: "latest" }, "v0")).rejects.toMatchObject(latest);
      await expect(artifacts.deleteAlias({ ...alias, alias: "latest" })).rejects.toMatchObject(latest);
    });

    test.each(["最新", "лучший", "best model", "🚀", "e\u0301"])("a type and an alias may be %s", async (label) => {
      const { artifacts } = await open();
      const { version } = await commit(artifacts, "a", { type: label, aliases: [label] });
      expect(version).toMatchObject({ type: label, aliases: expect.arrayContaining([label]) });
      await commit(artifacts, "b", { type: label });
      expect(await artifacts.get(project, "data", label)).toMatchObject({ index: 0 });
      await artifacts.deleteAlias({ project_id: project, name: "data", alias: label });
      expect(await artifacts.get(project, "data", label)).toBeUndefined();
    });

    test.each(["a/b", "a:b", "a\nb", " ", "..", "\ud800", "x".repeat(129)])("no alias may be %j", async (label) => {
      const { artifacts } = await open();
      await commit(artifacts, "a");
      const alias = { project_id: project, name: "data", alias: label };
      await expect(artifacts.setAlias(alias, "v0")).rejects.toMatchObject({ code: "unprocessable", loc: ["alias"] });
      expect(await artifacts.get(project, "data", label)).toBeUndefined();
    });

    test("a request that comes again late, or at a second replica, makes no other version", async () => {
      const { artifacts, all, clock } = await open(2);
      const same = { retryId: "same", deduplicate: true };
      const again = async () => await Promise.all(all.map((each) => commit(each, "a", { retryId: "r1" })));
      const [first, second] = await again();
      expect([first, second].map((each) => each?.version.index)).toEqual([0, 0]);
      expect(await commit(artifacts, "a", same)).toMatchObject({
        created: false,
        version: { index: 0 },
      });
      await commit(artifacts, "b", { retryId: "r2" });
      // Each of these is not what the newest version has.
      for (const { version } of await again()) expect(version).toMatchObject({ index: 0, id: first?.version.id });
      expect(await commit(artifacts, "a", same)).toMatchObject({
        created: false,
        version: { index: 0 },
      });
      await expect(commit(artifacts, "c", { retryId: "r1" })).rejects.toMatchObject({ code: "conflict" });
      await commit(artifacts, "a", { retryId: "r1", project_id: other });
      await artifacts.delete(project, "data", "v0");
      await expect(again()).rejects.toMatchObject({ code: "conflict" });
      const left = await artifacts.page({ project_id: project, name: "data", limit: 10 });
      expect(left.versions.map(({ index }) => index)).toEqual([1]);
      clock.now += 86_400_000_001n;
      expect(await commit(artifacts, "a", { retryId: "r1" })).toMatchObject({ created: true, version: { index: 2 } });
    });

    test("content that the project has not sent makes no version, even when another project has it", async () => {
      const { artifacts } = await open();
      await commit(artifacts, "secret", { project_id: other });
      const files = [{ path: "train.jsonl", sha256: contentOf("secret").sha256 }];
      const version = { project_id: project, name: "data", type: "dataset", files, created_by: "eve" };
      const refused = { code: "unprocessable", loc: ["files", 0, "sha256"] };
      await expect(artifacts.commit(version)).rejects.toMatchObject(refused);
      expect(await artifacts.getCollection(project, "data")).toBeUndefined();
      const digests = [contentOf("secret").sha256, "nothing", contentOf("b").sha256];
      expect(await artifacts.findContents(project, digests)).toEqual(new Map());
      expect(await artifacts.findContents(other, digests)).toEqual(new Map([[digests[0], contentOf("secret")]]));
    });

    test("content stays in use while a version names it or until it was sent too long ago", async () => {
      const { artifacts, clock } = await open();
      const { version } = await commit(artifacts, "kept");
      await send(artifacts, "x", "abandoned");
      clock.now += 1_000n;
      await send(artifacts, "x", "fresh");
      await artifacts.forgetUploads(clock.now);
      const digests = ["kept", "abandoned", "fresh", "never"].map((text) => contentOf(text).sha256);
      expect(await artifacts.contentsInUse(digests)).toEqual(new Set([digests[0], digests[2]]));
      const files = [{ path: "b.jsonl", sha256: digests[0] ?? "" }];
      const copy = { project_id: project, name: "copy", type: "dataset", files, created_by: "ann" };
      expect((await artifacts.commit(copy)).version.index).toBe(0);
      await artifacts.delete(project, "data", "v0");
      expect(await artifacts.contentsInUse(digests)).toEqual(new Set([digests[0], digests[2]]));
      expect(await artifacts.deleteCollection(project, "copy")).toBe(true);
      expect(await artifacts.deleteCollection(project, "copy")).toBe(false);
      expect(await artifacts.contentsInUse(digests)).toEqual(new Set([digests[2]]));
      expect(await artifacts.listFiles({ version_id: version.id, limit: 1 })).toEqual([]);
    });

    test("the collections of a project are listed in the order of their creation, by type, a page at a time", async () => {
      const { artifacts, clock } = await open();
      for (const [name, type] of [
        ["b", "lora"],
        ["a", "dataset"],
        ["c", "lora"],
      ] as const) {
        await commit(artifacts, name, { name, type });
      }
      await commit(artifacts, "x", { project_id: other, name: "x" });
      const names = async (page: object) => {
        const { collections, has_more } = await artifacts.pageCollections({ project_id: project, limit: 10, ...page });
        return [collections.map(({ name }) => name), has_more];
      };
      const after = (await artifacts.getCollection(project, "b"))?.id;
      expect(await names({})).toEqual([["b", "a", "c"], false]);
      expect(await names({ after, limit: 1 })).toEqual([["a"], true]);
      expect(await names({ after, type: "lora" })).toEqual([["c"], false]);
      expect(await names({ type: "nul\0" })).toEqual([[], false]);
      const elsewhere = (await artifacts.getCollection(other, "x"))?.id;
      for (const unknown of [elsewhere, "nul\0"])
        await expect(names({ after: unknown })).rejects.toMatchObject({ code: "invalid", loc: ["after"] });
      expect(await artifacts.getCollection(project, "b")).toEqual({
        id: expect.any(String),
        project_id: project,
        name: "b",
        type: "lora",
        created_at: clock.now,
        created_by: "ann",
      });
      await expect(commit(artifacts, "y", { name: "b" })).rejects.toMatchObject({ code: "conflict", loc: ["type"] });
    });

    test.each([
      ["a name with a slash", { name: "a/b" }, ["name"]],
      ["an empty name", { name: "" }, ["name"]],
      ["the name ..", { name: ".." }, ["name"]],
      ["a long name", { name: "a".repeat(129) }, ["name"]],
      ["a type with a colon", { type: "a:b" }, ["type"]],
      ["an alias like a version", { aliases: ["ok", "v12"] }, ["aliases", 1]],
      ["an alias like a digest", { aliases: ["a".repeat(64)] }, ["aliases", 0]],
      ["an alias with a nul", { aliases: ["a\0"] }, ["aliases", 0]],
    ])("%s is refused", async (_, more, loc) => {
      const { artifacts } = await open();
      await expect(commit(artifacts, "a", more)).rejects.toMatchObject({ code: "unprocessable", loc });
      expect(await artifacts.pageCollections({ project_id: project, limit: 1 })).toEqual({
        collections: [],
        has_more: false,
      });
    });

    test("a path that leads out of its directory, or that no directory can have, is refused", async () => {
      const { artifacts } = await open();
      const bad = ["", "/etc/passwd", "..", "a/../../b", "./a", "a//b", "a/", "a\\b", "C:\\x", "c:x", "a\0", "a\nb"];
      for (const path of [...bad, "\ud800", "a".repeat(256), "ab/".repeat(400) + "c"]) {
        const files = [await send(artifacts, "fine", "a"), await send(artifacts, path, "b")];
        const refused = { code: "unprocessable", loc: ["files", 1, "path"] };
        await expect(commit(artifacts, "a", { files }), path).rejects.toMatchObject(refused);
      }
      for (const [first, second] of [
        ["a", "a"],
        ["a", "a/b"],
        ["a/b/c/d", "a/b"],
      ] as const) {
        const files = [await send(artifacts, first, "a"), await send(artifacts, second, "b")];
        await expect(commit(artifacts, "a", { files })).rejects.toMatchObject({ code: "unprocessable" });
      }
      const many = Array.from({ length: 10_001 }, (_, n) => ({ path: `${n}`, sha256: "0".repeat(64) }));
      await expect(commit(artifacts, "a", { files: many })).rejects.toMatchObject({
        code: "too_large",
        loc: ["files"],
      });
      const metadata = JSON.stringify("x".repeat(1024 * 1024));
      await expect(commit(artifacts, "a", { metadata })).rejects.toMatchObject({
        code: "too_large",
        loc: ["metadata"],
      });
    });

    test("services that commit at once give each version an index of its own, and one of them is latest", async () => {
      const { all, artifacts } = await open(2);
      const committed = await Promise.all(
        Array.from({ length: 8 }, async (_, n) => await commit(all[n % 2] ?? artifacts, `text ${n}`)),
      );
      expect(committed.map(({ version }) => version.index).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(await artifacts.get(project, "data")).toMatchObject({ index: 7 });
    });
  });
}
