import { expect, test, vi } from "vitest";
import { withAnswer } from "../fields/answers.js";
import type { Outcome } from "./entry.js";
import type { QueuePort } from "./queue-port.js";
import type { TabItems } from "./tab-items.js";
import { Work } from "./work.js";

/** A queue in memory that claims as the service does. */
class Queue implements QueuePort {
  readonly states = new Map<string, Outcome | "claimed" | "by another">();
  readonly feedback = new Map<string, { callId: string; ref: string; value: unknown }>();
  readonly done: string[] = [];
  readonly released: string[] = [];
  isThere = true;
  /** Thrown by the next writes, one each. */
  readonly failures: unknown[] = [];

  constructor(readonly ids: readonly string[]) {}

  async claim({ except, id }: { except: readonly string[]; id?: string }) {
    if (!this.isThere) throw new Error("no queue");
    const mine = this.ids.find((each) => this.states.get(each) === "claimed" && !except.includes(each));
    const free = this.ids.find(
      (each) => !this.states.has(each) && !except.includes(each) && (id === undefined || id === each),
    );
    const found = mine ?? free;
    if (found === undefined) return undefined;
    this.states.set(found, "claimed");
    return { id: found, callId: `call-${found}`, values: [] };
  }

  async look(id: string) {
    const state = this.states.get(id);
    if (!this.ids.includes(id)) return undefined;
    const given = [...this.feedback].filter(([, { callId }]) => callId === `call-${id}`);
    return {
      item: { id, callId: `call-${id}`, values: [] },
      isMine: state !== undefined && state !== "by another",
      stored: {
        outcome: state === "completed" || state === "skipped" ? state : undefined,
        given: new Map(given.map(([feedbackId, { ref, value }]) => [ref, { id: feedbackId, value }])),
      },
    };
  }

  async reopen(id: string) {
    this.#write(`reopen ${id}`);
    this.states.set(id, "claimed");
  }

  async finish(id: string, outcome: Outcome) {
    this.#write(`${outcome} ${id}`);
    this.states.set(id, outcome);
  }

  async give({ id, ...rest }: { id: string; callId: string; ref: string; value: unknown }, inQueue: boolean) {
    if (inQueue && !this.isThere) throw new Error("no queue");
    this.#write(`give ${rest.callId} ${rest.ref} ${JSON.stringify(rest.value)}`);
    this.feedback.set(id, rest);
  }

  async takeBack(id: string) {
    this.#write(`take back ${this.feedback.get(id)?.ref}`);
    this.feedback.delete(id);
  }

  async release(ids: readonly string[]) {
    this.released.push(...ids);
    for (const id of ids) if (this.states.get(id) === "claimed") this.states.delete(id);
  }

  async exists() {
    return this.isThere;
  }

  #write(what: string) {
    this.done.push(what);
    const failure = this.failures.shift();
    if (failure !== undefined) throw failure;
  }
}

const settled = (work: Work) => vi.waitFor(() => expect(work.state().writing).toBe(0));
const at = (work: Work) => work.state().current?.item.id;
const arrives = (work: Work, id: string | undefined) => vi.waitFor(() => expect(at(work)).toBe(id));
const answer = (work: Work, value: unknown) => work.answer((answers) => withAnswer(answers, "right", value));

async function begun(ids: string[], itemId?: string) {
  const queue = new Queue(ids);
  const work = new Work(queue);
  await work.begin(itemId);
  return { queue, work };
}

test("two items are claimed ahead, and shown at once when the present one is saved", async () => {
  const { queue, work } = await begun(["a", "b", "c"]);
  await vi.waitFor(() => expect([...queue.states.values()]).toEqual(["claimed", "claimed", "claimed"]));
  answer(work, true);
  work.finish("completed");
  expect(at(work)).toBe("b");
  work.finish("skipped");
  expect(at(work)).toBe("c");
  await settled(work);
  expect(queue.done.filter((what) => what.endsWith("a") || what.startsWith("give"))).toEqual([
    "give call-a right true",
    "completed a",
  ]);
  work.finish("skipped");
  await vi.waitFor(() => expect(work.state().phase).toBe("done"));
  await settled(work);
  expect([...queue.states.values()]).toEqual(["completed", "skipped", "skipped"]);
  expect(work.state().took).toHaveLength(3);
});

test("undo takes back answers, then the item before, also when it was the last", async () => {
  const { queue, work } = await begun(["a"]);
  answer(work, true);
  answer(work, false);
  work.undo();
  expect(work.state().current?.answers.get("right")).toBe(true);
  work.finish("completed");
  await vi.waitFor(() => expect(work.state().phase).toBe("done"));
  work.undo();
  expect(work.state().current).toMatchObject({ item: { id: "a" }, outcome: undefined });
  await settled(work);
  expect([queue.states.get("a"), queue.feedback.size]).toEqual(["claimed", 0]);
  answer(work, false);
  work.finish("completed");
  await vi.waitFor(() => expect(work.state().phase).toBe("done"));
  await settled(work);
  expect([...queue.feedback.values()]).toEqual([{ callId: "call-a", ref: "right", value: false }]);
});

test("text that is entered letter by letter is one change", async () => {
  const { work } = await begun(["a"]);
  answer(work, true);
  for (const text of ["l", "la", "lat", "late"]) work.enter("comment", text);
  expect(work.state().current?.answers.get("comment")).toBe("late");
  work.undo();
  expect([...(work.state().current?.answers ?? [])]).toEqual([["right", true]]);
});

test("back shows what was saved, and saving other answers replaces them without reopening", async () => {
  const { queue, work } = await begun(["a", "b"]);
  answer(work, true);
  work.finish("completed");
  await arrives(work, "b");
  await settled(work);
  work.back();
  expect(work.state().current).toMatchObject({ item: { id: "a" }, outcome: "completed" });
  answer(work, false);
  queue.done.length = 0;
  work.finish("completed");
  await arrives(work, "b");
  await settled(work);
  expect(queue.done).toEqual(["take back right", "give call-a right false"]);
});

test("a failure stays until it is repaired, and what was stored is not stored twice", async () => {
  const { queue, work } = await begun(["a", "b"]);
  answer(work, true);
  work.enter("comment", "late");
  queue.failures.push(undefined, new Error("503"));
  work.finish("completed");
  await arrives(work, "b");
  await settled(work);
  expect(work.state().failed.map(({ item }) => item.id)).toEqual(["a"]);
  const again = work.retry();
  expect(work.state().failed.map(({ item }) => item.id)).toEqual(["a"]);
  await again;
  expect(work.state().failed).toEqual([]);
  expect(queue.states.get("a")).toBe("completed");
  expect([...queue.feedback.values()].map(({ ref }) => ref).toSorted()).toEqual(["comment", "right"]);
});

test("an item that another has taken is left, and it is said", async () => {
  const { queue, work } = await begun(["a", "b"]);
  queue.states.set("a", "by another");
  await work.renew();
  await arrives(work, "b");
  expect(work.state().notice).toContain("another took it");
  work.back();
  expect(work.state().current).toMatchObject({ item: { id: "a" }, isLost: true });
});

test("what is left is given back, and claimed again by who comes back", async () => {
  const { queue, work } = await begun(["a", "b", "c", "d"]);
  await vi.waitFor(() => expect(queue.states.get("c")).toBe("claimed"));
  work.finish("skipped");
  await settled(work);
  await vi.waitFor(() => expect(queue.states.get("d")).toBe("claimed"));
  work.leave();
  expect(queue.released).toEqual(["b", "c", "d"]);
  await work.comeBack();
  expect(at(work)).toBe("b");
  await vi.waitFor(() => expect([...queue.states.values()].filter((state) => state === "claimed")).toHaveLength(3));
});

test("an item that is being claimed while the page is left is given back", async () => {
  const queue = new Queue(["a", "b"]);
  const work = new Work(queue);
  const begins = work.begin();
  work.leave();
  await begins;
  expect(queue.released).toEqual(["a"]);
});

test("a queue that is deleted meanwhile leaves what was entered, which is stored with the call alone", async () => {
  const { queue, work } = await begun(["a", "b"]);
  work.finish("skipped");
  await settled(work);
  answer(work, true);
  queue.isThere = false;
  await work.renew();
  expect(work.state()).toMatchObject({ isGone: true, current: { item: { id: "b" } } });
  expect(work.state().current?.answers.get("right")).toBe(true);
  work.finish("completed");
  await settled(work);
  expect(work.state()).toMatchObject({ current: { outcome: "completed" }, failed: [] });
  expect([...queue.feedback.values()]).toEqual([{ callId: "call-b", ref: "right", value: true }]);
  expect(queue.done).not.toContain("completed b");
});

test("an item that was being stored when its queue was deleted is at hand again", async () => {
  const { queue, work } = await begun(["a"]);
  answer(work, true);
  queue.isThere = false;
  work.finish("completed");
  await settled(work);
  await vi.waitFor(() => expect(work.state()).toMatchObject({ isGone: true, current: { item: { id: "a" } } }));
  expect(work.state().failed).toHaveLength(1);
  await work.retry();
  expect(work.state().failed).toEqual([]);
  expect(queue.feedback.size).toBe(1);
});

test("a deleted queue of which nothing was entered ends the work", async () => {
  const queue = new Queue([]);
  queue.isThere = false;
  const work = new Work(queue);
  await work.begin();
  expect(work.state()).toMatchObject({ phase: "gone", current: undefined });
});

test("an address names an item: one's own is shown as it was saved, that of another is passed over", async () => {
  const queue = new Queue(["a", "b", "c"]);
  queue.states.set("a", "completed");
  queue.feedback.set("f", { callId: "call-a", ref: "right", value: true });
  queue.states.set("b", "by another");
  const own = new Work(queue);
  await own.begin("a");
  expect(own.state().current).toMatchObject({ item: { id: "a" }, outcome: "completed" });
  expect(own.state().current?.answers.get("right")).toBe(true);
  const other = new Work(queue);
  await other.begin("b");
  await arrives(other, "c");
  expect(other.state().notice).toContain("Another annotator");
  const none = new Work(queue);
  await none.begin("none");
  expect(none.state().notice).toContain("no such item");
});

test("after a queue was empty it is looked at again", async () => {
  const { queue, work } = await begun(["a"]);
  work.finish("skipped");
  await vi.waitFor(() => expect(work.state().phase).toBe("done"));
  (queue.ids as string[]).push("b");
  await work.lookAgain();
  await arrives(work, "b");
});

/** What tabs of one browser share. */
const inOneBrowser = () => {
  const owners = new Map<string, object>();
  return (): TabItems => {
    const tab = {};
    return {
      elsewhere: async () => [...owners].flatMap(([id, owner]) => (owner === tab ? [] : [id])),
      take: async (id) => {
        if (owners.has(id) && owners.get(id) !== tab) return false;
        owners.set(id, tab);
        return true;
      },
      release: (id) => void owners.delete(id),
      leave: () => undefined,
    };
  };
};

test("two tabs of one annotator never have the same item, begun at the same time or by the same address", async () => {
  const ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
  const queue = new Queue(ids);
  const tab = inOneBrowser();
  const [one, two, three] = [1, 2, 3].map(() => new Work(queue, () => 0, tab()));
  await Promise.all([one?.begin(), two?.begin()]);
  const idOf = (work: Work | undefined) => work?.state().current?.item.id ?? "";
  expect(new Set([idOf(one), idOf(two)]).size).toBe(2);
  await three?.begin(idOf(one));
  expect(three?.state().notice).toContain("in another tab");
  expect(new Set([idOf(one), idOf(two), idOf(three)]).size).toBe(3);
  // Together they finish all of it, each item once.
  for (const work of [one, two, three, one, two, three, one, two, three]) {
    work?.finish("completed");
    // oxlint-disable-next-line no-await-in-loop -- as people do
    await vi.waitFor(() => expect(work?.state()).toMatchObject({ writing: 0 }));
  }
  expect(queue.done.toSorted()).toEqual(ids.map((id) => `completed ${id}`));
});
