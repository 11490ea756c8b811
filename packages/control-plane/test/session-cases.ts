import { describe, expect, onTestFinished, test } from "vitest";
import { openControlPlane } from "../src/index.js";
import type { Caller, ControlPlane, ControlPlaneOptions } from "../src/index.js";
import { openDatabase } from "../src/database/open-database.js";

const minute = 60_000_000n;
const day = 1440n * minute;

/** What a user may expect of sessions on any backend. `make` gives the URL of an empty database. */
export function sessionCases(backEnd: string, make: () => Promise<string>): void {
  /** A control plane whose clock is moved by hand, and a caller of it. */
  async function clocked(options: Partial<ControlPlaneOptions> = {}) {
    const url = options.url ?? (await make());
    const clock = { time: 1_000n * day };
    const plane = await openControlPlane({ now: () => clock.time, ...options, url });
    onTestFinished(() => plane.close());
    const { key, secret } = await plane.keys.create({ user_name: "ana", entity: "acme", role: "read" });
    const caller = (await plane.keys.verify(secret)) as Caller;
    return { url, clock, plane, key, caller };
  }

  const statusOf = async ({ sessions }: ControlPlane, { token, cookie }: { token: string; cookie: string }) => {
    const check = await sessions.check(token, [cookie]);
    return check.caller === undefined ? check.refused : "valid";
  };

  describe(`sessions on ${backEnd}`, () => {
    test("need both halves, which are stored nowhere", async () => {
      const { url, plane, caller } = await clocked();
      const [one, other] = [await plane.sessions.create(caller), await plane.sessions.create(caller)];
      const check = await plane.sessions.check(one.token, ["x", one.cookie]);
      expect(check.caller).toMatchObject({ key_id: caller.key_id, role: "read", session: one.caller.session });
      for (const cookies of [[], [""], [other.cookie], [one.token]])
        expect(await plane.sessions.check(one.token, cookies)).toEqual({ refused: "unknown" });
      expect(await plane.sessions.check("x", [one.cookie])).toEqual({ refused: "unknown" });
      const database = openDatabase(url);
      const stored = JSON.stringify(await database.rows("SELECT token_sha256, cookie_sha256 FROM sessions"));
      await database.close();
      for (const secret of [one.token, one.cookie]) expect(stored).not.toContain(secret);
    });

    test("end after a week without use, and a month after they began", async () => {
      const { clock, plane, caller } = await clocked();
      const [idle, used] = [await plane.sessions.create(caller), await plane.sessions.create(caller)];
      clock.time += 7n * day;
      expect(await statusOf(plane, used)).toBe("valid");
      clock.time += 1n;
      expect(await statusOf(plane, idle)).toBe("expired");
      expect(await statusOf(plane, used)).toBe("valid");
      const begun = await plane.sessions.create(caller);
      for (let days = 0; days < 5; days++) {
        expect(await statusOf(plane, begun)).toBe("valid");
        clock.time += 6n * day;
      }
      expect(await statusOf(plane, begun)).toBe("valid");
      clock.time += 1n;
      expect(await statusOf(plane, begun)).toBe("expired");
      expect(await plane.sessions.isValid(begun.caller.session?.id ?? "")).toBe(false);
    });

    test("end with their key, in this process at once and in another within a second", async () => {
      const { url, clock, plane, key, caller } = await clocked();
      const other = await openControlPlane({ url, now: () => clock.time });
      onTestFinished(() => other.close());
      const session = await plane.sessions.create(caller);
      const { code } = await plane.sessions.createCode(caller);
      expect(await statusOf(other, session)).toBe("valid");
      await plane.keys.revoke(key.id);
      expect(await statusOf(plane, session)).toBe("unknown");
      clock.time += 1_000_000n;
      expect(await statusOf(other, session)).toBe("unknown");
      expect((await other.sessions.redeemCode(code)).caller).toBeUndefined();
    });

    test("are a hundred of a key, of which the oldest end", async () => {
      const { clock, plane, caller } = await clocked();
      const created = [];
      for (let index = 0; index < 102; index++) {
        clock.time += 1n;
        created.push(await plane.sessions.create(caller));
      }
      const statuses = await Promise.all(created.map(async (session) => await statusOf(plane, session)));
      expect(statuses.map((status) => status === "valid").lastIndexOf(false)).toBe(1);
      expect(await plane.sessions.endAll(caller.key_id)).toBe(100);
    });

    test("of an owner key end when it becomes another", async () => {
      const owner = { secret: "o".repeat(40), entity: "home" };
      const { url, plane } = await clocked({ owner });
      const caller = (await plane.keys.verify(owner.secret)) as Caller;
      const session = await plane.sessions.create(caller);
      const { code } = await plane.sessions.createCode(caller);
      const clock = { now: () => 1_000n * day };
      const same = await openControlPlane({ url, owner, ...clock });
      const changed = await openControlPlane({ url, owner: { ...owner, secret: "p".repeat(40) }, ...clock });
      onTestFinished(async () => void (await Promise.all([same.close(), changed.close()])));
      expect(await statusOf(same, session)).toBe("valid");
      expect(await statusOf(changed, session)).toBe("revoked");
      expect((await changed.sessions.redeemCode(code)).caller).toBeUndefined();
    });

    test("begin by a code once, within ten minutes", async () => {
      const { clock, plane, caller } = await clocked();
      const [once, late] = [await plane.sessions.createCode(caller), await plane.sessions.createCode(caller)];
      expect(once.expires_at).toBe(clock.time + 10n * minute);
      const redeemed = await Promise.all([1, 2, 3].map(async () => await plane.sessions.redeemCode(once.code)));
      expect(redeemed.filter((check) => check.caller !== undefined)).toHaveLength(1);
      clock.time += 10n * minute + 1n;
      expect(await plane.sessions.redeemCode(late.code)).toEqual({ refused: "expired" });
      expect(await plane.sessions.redeemCode(late.code)).toEqual({ refused: "unknown" });
    });
  });
}
