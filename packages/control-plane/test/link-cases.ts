import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { Caller, ControlPlaneOptions } from "../src/index.js";
import { openDatabase } from "../src/database/open-database.js";

const minute = 60_000_000n;

/** What a user may expect of links to exports and of shares on any backend. `make` gives the URL of an empty database. */
export function linkCases(backEnd: string, make: () => Promise<string>): void {
  /** A control plane whose clock is moved by hand, and a caller of it. */
  async function clocked(options: Partial<ControlPlaneOptions> = {}) {
    const url = options.url ?? (await make());
    const clock = { time: 1_000_000n * minute };
    const plane = await openControlPlane({ now: () => clock.time, ...options, url });
    onTestFinished(() => plane.close());
    const { key, secret } = await plane.keys.create({ user_name: "ana", entity: "acme", role: "write" });
    const caller = (await plane.keys.verify(secret)) as Caller;
    return { url, clock, plane, key, caller };
  }

  const share = { project_id: "acme/demo", trace_id: "t\ud800\u0000%", redact: ["inputs.a"], expires_in: minute };

  describe(`links on ${backEnd}`, () => {
    test("an export starts three times within ten minutes, also when all ask at once", async () => {
      const { plane, clock, caller } = await clocked();
      const { exportLinks } = plane;
      const { token, expires_at } = await exportLinks.create(caller, "acme/demo", '{"format":"csv","x":"\\u0000%"}');
      expect(expires_at).toBe(clock.time + 10n * minute);
      expect(await exportLinks.find("unknown")).toBeUndefined();
      expect(await exportLinks.find(token)).toMatchObject({
        project_id: "acme/demo",
        request: '{"format":"csv","x":"\\u0000%"}',
        check: { caller: { key_id: caller.key_id } },
      });
      const begun = await Promise.all(Array.from({ length: 10 }, async () => await exportLinks.begin(token)));
      expect(begun.filter((each) => each)).toHaveLength(3);
      expect(await exportLinks.find(token)).toBeUndefined();
      const late = await exportLinks.create(caller, "acme/demo", "{}");
      clock.time += 10n * minute + 1n;
      expect(await exportLinks.find(late.token)).toBeUndefined();
    });

    test("the oldest exports of a key end where its newest ones describe too much", async () => {
      const { plane, clock, caller } = await clocked();
      const { exportLinks } = plane;
      const make = async (text: string) => {
        clock.time += 1n;
        return (await exportLinks.create(caller, "acme/demo", text)).token;
      };
      const short = await make("{}");
      const long: string[] = [];
      for (let n = 0; n < 17; n++) long.push(await make("x".repeat(1_000_000)));
      expect(await exportLinks.find(short)).toBeUndefined();
      const found = await Promise.all(long.map(async (token) => (await exportLinks.find(token)) !== undefined));
      expect(found.filter((each) => each)).toHaveLength(16);
      expect(found.at(-1)).toBe(true);
    });

    test("secrets are stored nowhere", async () => {
      const { url, plane, caller } = await clocked();
      const tokens = [
        (await plane.exportLinks.create(caller, "acme/demo", "{}")).token,
        (await plane.shares.create(caller, share)).token,
      ];
      const database = openDatabase(url);
      const stored = JSON.stringify([
        await database.rows("SELECT token_sha256 FROM export_links"),
        await database.rows("SELECT token_sha256, redact FROM shares"),
      ]);
      await database.close();
      for (const token of tokens) expect(stored).not.toContain(token);
    });

    test("a share is of one trace, to read, until it expires or is revoked", async () => {
      const { plane, clock, caller } = await clocked();
      const { shares } = plane;
      const [one, other] = [await shares.create(caller, share), await shares.create(caller, share)];
      expect(await shares.check(one.token)).toMatchObject({
        caller: {
          entity: "acme",
          projects: ["demo"],
          role: "read",
          owner: false,
          share: { id: one.share.id, trace_id: share.trace_id, redact: share.redact },
        },
      });
      expect((await shares.list("acme/demo")).map(({ id }) => id).toSorted()).toEqual(
        [one.share.id, other.share.id].toSorted(),
      );
      expect(await shares.list("acme/other")).toEqual([]);
      expect(await shares.revoke("acme/other", one.share.id)).toBe(false);
      expect(await shares.revoke("acme/demo", one.share.id)).toBe(true);
      expect(await shares.revoke("acme/demo", one.share.id)).toBe(false);
      expect(await shares.check(one.token)).toEqual({ refused: "unknown" });
      clock.time += minute;
      expect(await shares.check(other.token)).toEqual({ refused: "expired" });
      expect(await shares.list("acme/demo")).toEqual([]);
    });

    test("links end with the key that made them, and with the owner key when it becomes another", async () => {
      const { url, plane, caller, key } = await clocked();
      const [link, shared] = [
        await plane.exportLinks.create(caller, "acme/demo", "{}"),
        await plane.shares.create(caller, share),
      ];
      await plane.keys.revoke(key.id);
      expect((await plane.exportLinks.find(link.token))?.check).toMatchObject({ refused: "revoked" });
      expect(await plane.shares.check(shared.token)).toMatchObject({ refused: "revoked" });
      const first = await clocked({ url, owner: { secret: "first", entity: "local" } });
      const owner = (await first.plane.keys.verify("first")) as Caller;
      const [ownerLink, ownerShare] = [
        await first.plane.exportLinks.create(owner, "acme/demo", "{}"),
        await first.plane.shares.create(owner, share),
      ];
      expect((await first.plane.shares.check(ownerShare.token)).caller).toBeDefined();
      const second = await clocked({ url, owner: { secret: "second", entity: "local" } });
      expect((await second.plane.exportLinks.find(ownerLink.token))?.check.caller).toBeUndefined();
      expect((await second.plane.shares.check(ownerShare.token)).caller).toBeUndefined();
    });
  });
}
