import { setTimeout as delay } from "node:timers/promises";
import { isSentAgain } from "./wire.js";
import type { Wire } from "./wire.js";
import type { Writing } from "./writing.js";

/** Writes objects, tables, files and prices, and enters what was acknowledged with the way to read it back. */
export async function writeContents({ wire, project_id, ledger, random, stopped }: Writing): Promise<void> {
  /** Values of one object that were acknowledged, each of which is a version. */
  const versions: unknown[] = [];
  const versioned = `versioned-${Math.floor(random() * 1e9)}`;
  for (let round = 0; !stopped(); round++) {
    const text = `${round} ${random()}`;
    const object = { project_id, object_id: `object-${Math.floor(random() * 5)}`, val: { text } };
    const rows = [{ text }, { text: `${text} again` }];
    const form = new FormData();
    form.append("project_id", project_id);
    form.append("file", new Blob([text]), "note.txt");
    const price = { prompt_token_cost: random(), completion_token_cost: random() };
    const stored = await Promise.all([
      store("/obj/create", { obj: object }),
      store("/table/create", { table: { project_id, rows } }),
      store("/file/create", form),
      storePrice(price),
    ]);
    const [objectDigest, tableDigest, fileDigest, priceId] = stored;
    enter(objectDigest, "object", object.val, async (from, digest) => {
      const read = { project_id, object_id: object.object_id, digest };
      return (await from.ask<{ obj: { val: unknown } }>("/obj/read", read)).obj.val;
    });
    enter(tableDigest, "table", rows, async (from, digest) =>
      (await from.ask<{ rows: { val: unknown }[] }>("/table/query", { project_id, digest })).rows.map(({ val }) => val),
    );
    enter(
      fileDigest,
      "file",
      text,
      async (from, digest) => (await from.post("/file/content", { project_id, digest })).text,
    );
    enter(priceId, "price", [price], async (from, id) => {
      const query = { $expr: { $eq: [{ $getField: "id" }, { $literal: id }] } };
      const read = { project_id, fields: Object.keys(price), query };
      return (await from.ask<{ results: unknown[] }>("/cost/query", read)).results;
    });
    await delay(stored.includes(undefined) ? 50 : 0);
    // Sent until it is acknowledged: the version before is then the one before.
    const version = { project_id, object_id: versioned, val: { text } };
    while ((await store("/obj/create", { obj: version })) === undefined) await delay(50);
    versions.push(version.val);
  }
  ledger.contents.push({
    kind: "objects, tables, files, prices",
    what: "versions of one object",
    expected: versions.map((val, index) => [index, val]),
    async read(from) {
      const query = { project_id, filter: { object_ids: [versioned], latest_only: false } };
      const { objs } = await from.ask<{ objs: { version_index: number; val: unknown }[] }>("/objs/query", query);
      return objs.map(({ version_index, val }) => [version_index, val]).toSorted(([a], [b]) => Number(a) - Number(b));
    },
  });

  async function storePrice(price: object): Promise<string | undefined> {
    const text = await post("/cost/create", { project_id, costs: { model: price } });
    return text === undefined ? undefined : (JSON.parse(text) as { ids: [[string, string]] }).ids[0][0];
  }

  async function store(path: string, body: unknown): Promise<string | undefined> {
    const text = await post(path, body);
    return text === undefined ? undefined : (JSON.parse(text) as { digest: string }).digest;
  }

  async function post(path: string, body: unknown): Promise<string | undefined> {
    const { status, text } = await wire.post(path, body);
    if (status === 200) return text;
    if (!isSentAgain(status)) throw new Error(`${path} responded ${status}: ${text}`);
    return undefined;
  }

  function enter(
    digest: string | undefined,
    what: string,
    expected: unknown,
    read: (from: Wire, digest: string) => Promise<unknown>,
  ): void {
    if (digest === undefined) return;
    ledger.contents.push({
      kind: "objects, tables, files, prices",
      what: `${what} ${digest}`,
      expected,
      read: (from) => read(from, digest),
    });
  }
}
