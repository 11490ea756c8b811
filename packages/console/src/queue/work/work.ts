import { newId } from "../../data/new-id.js";
import { withAnswer } from "../fields/answers.js";
import type { Answers } from "../fields/answers.js";
import { newEntry, nextStep } from "./entry.js";
import type { Entry, Outcome, Step } from "./entry.js";
import type { QueuePort } from "./queue-port.js";
import { onlyTab } from "./tab-items.js";
import type { TabItems } from "./tab-items.js";

export interface WorkState {
  /** `waiting` for an item, `done` when none is left, `gone` where a deleted queue leaves nothing to look at. */
  phase: "waiting" | "working" | "done" | "gone" | "failed";
  /** The queue was deleted. What the annotator entered stays, and is stored with the calls alone. */
  isGone: boolean;
  current: Entry | undefined;
  /** What happened that the annotator did not do. */
  notice: string | undefined;
  /** Why the next item could not be had. */
  error: unknown;
  /** Items that could not be stored. */
  failed: readonly Entry[];
  /** Items of which writes are under way. */
  writing: number;
  hasEarlier: boolean;
  hasLater: boolean;
  /** How long items took, in milliseconds. */
  took: readonly number[];
}

/** Items of other pages of the same annotator, in other browsers too, that are passed over to find one. */
const mostPassed = 10;
/** What a request may leave out. */
const mostExcept = 100;
/** Items that are claimed and read before they are wanted: with two, keys that follow each other at once find the next as well. */
const mostAhead = 2;

/**
 * The work of one annotator on a queue: the item at hand, those before it, and some ahead that are claimed and read already.
 * What is saved is written in the background; the page goes on at once, and what could not be written is kept.
 */
export class Work {
  readonly #port: QueuePort;
  readonly #tabs: TabItems;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  #entries: Entry[] = [];
  #at = 0;
  #ahead: Entry[] = [];
  #isFilling = false;
  #isGone = false;
  #hasLeft = false;
  #phase: WorkState["phase"] = "waiting";
  #notice: string | undefined;
  #error: unknown;
  #begunAt: number;
  #took: number[] = [];
  /** Ids of feedback by item, field and value: what is given again is the same feedback. */
  readonly #ids = new Map<string, string>();
  readonly #writing = new Set<string>();
  #state: WorkState | undefined;

  constructor(port: QueuePort, now: () => number = Date.now, tabs: TabItems = onlyTab) {
    this.#port = port;
    this.#tabs = tabs;
    this.#now = now;
    this.#begunAt = now();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  readonly state = (): WorkState => {
    const current = this.#phase === "working" ? this.#entries[this.#at] : undefined;
    this.#state ??= {
      phase: this.#phase,
      isGone: this.#isGone,
      current,
      notice: this.#notice,
      error: this.#error,
      failed: this.#entries.filter(({ error }) => error !== undefined),
      writing: this.#writing.size,
      hasEarlier: this.#at > 0,
      hasLater: this.#at < this.#entries.length - 1,
      took: this.#took,
    };
    return this.#state;
  };

  /** Begins with an item, or with the next. */
  async begin(itemId?: string): Promise<void> {
    if (itemId !== undefined) await this.#attempt(async () => await this.#open(itemId));
    if (this.#phase === "waiting") await this.#forward();
  }

  /** Looks again for an item, after none was left or one could not be had. */
  async lookAgain(): Promise<void> {
    await this.#forward();
  }

  /** Gives back what is claimed and was not decided. What is being written is written still. */
  leave(): void {
    this.#hasLeft = true;
    const ids = [...this.#entries, ...this.#ahead]
      .filter(({ outcome, stored }) => outcome === undefined && stored.outcome === undefined)
      .map(({ item }) => item.id);
    this.#ahead = [];
    this.#tabs.leave();
    this.#giveBack(ids);
  }

  /** After the page was left and is there again. */
  async comeBack(): Promise<void> {
    this.#hasLeft = false;
    await this.renew();
  }

  answer(change: (answers: Answers) => Answers): void {
    const current = this.state().current;
    if (current === undefined) return;
    const answers = change(current.answers);
    this.#change(current.item.id, { answers, earlier: [...current.earlier, current.answers] });
  }

  /** Text is changed key by key, which is one change to undo. */
  enter(ref: string, value: unknown): void {
    const current = this.state().current;
    if (current === undefined) return;
    const answers = withAnswer(current.answers, ref, value);
    const before = current.earlier.at(-1);
    const same = before !== undefined && isOnly(before, current.answers, ref);
    this.#change(current.item.id, { answers, earlier: same ? current.earlier : [...current.earlier, current.answers] });
  }

  /** Decides the item at hand and goes on. */
  finish(outcome: Outcome): void {
    const current = this.state().current;
    if (current === undefined) return;
    this.#notice = undefined;
    if (current.stored.outcome === undefined) this.#took = [...this.#took, this.#now() - this.#begunAt];
    this.#change(current.item.id, { outcome, earlier: [] });
    void this.#write(current.item.id);
    if (!this.#isGone) void this.#forward();
  }

  /** Takes back the last answer, or else the item that was decided last, which is at hand again. */
  undo(): void {
    const current = this.state().current;
    const before = current?.earlier.at(-1);
    if (current !== undefined && before !== undefined) {
      this.#change(current.item.id, { answers: before, earlier: current.earlier.slice(0, -1) });
      return;
    }
    const from = current?.outcome === undefined ? this.#at - 1 : this.#at;
    const at = this.#entries.findLastIndex(({ outcome }, index) => index <= from && outcome !== undefined);
    const entry = this.#entries[at];
    if (entry === undefined || this.#phase === "gone") return;
    this.#notice = undefined;
    this.#goTo(at);
    this.#change(entry.item.id, { outcome: undefined });
    void this.#write(entry.item.id);
  }

  back(): void {
    if (this.#at === 0 || this.#phase === "gone") return;
    this.#notice = undefined;
    this.#goTo(this.#at - 1);
  }

  next(): void {
    if (this.#at < this.#entries.length - 1) this.#goTo(this.#at + 1);
    else if (this.#phase === "working" && this.#entries[this.#at]?.outcome !== undefined) void this.#forward();
  }

  /** Writes again what could not be written. */
  async retry(): Promise<void> {
    const failed = this.#entries.filter(({ error }) => error !== undefined);
    await Promise.all(failed.map(({ item }) => this.#write(item.id)));
  }

  /** Keeps the claims; where another has the item meanwhile, goes on and says so. */
  async renew(): Promise<void> {
    if (this.#isGone || this.#hasLeft) return;
    const current = this.state().current;
    await this.#attempt(async () => {
      if (current?.stored.outcome === undefined && current?.outcome === undefined && current !== undefined) {
        if (!(await this.#keep(current))) this.#lose(current);
      }
      for (const entry of this.#ahead) {
        // oxlint-disable-next-line no-await-in-loop -- each says what is to be passed over
        if (await this.#keep(entry)) continue;
        this.#ahead = this.#ahead.filter((each) => each !== entry);
        this.#tabs.release(entry.item.id);
      }
    });
    if (this.#phase === "working") void this.#fill();
  }

  async #keep({ item }: Entry): Promise<boolean> {
    return (await this.#tabs.take(item.id)) && (await this.#claim(item.id)) !== undefined;
  }

  #lose({ item }: Entry): void {
    // Decided meanwhile, it was not needed any more.
    if (this.#find(item.id)?.outcome !== undefined || this.#find(item.id)?.isLost === true) return;
    this.#change(item.id, { isLost: true });
    this.#tabs.release(item.id);
    this.#notice = "Your claim on the item ran out, and another took it. This is the next one; ← leads back.";
    if (this.#entries[this.#at]?.item.id === item.id) void this.#forward();
  }

  async #open(itemId: string): Promise<void> {
    if (!(await this.#tabs.take(itemId, true))) {
      this.#notice = "You have that item in another tab. This is the next one.";
      return;
    }
    const item = await this.#claim(itemId);
    if (item !== undefined) return this.#push(newEntry(item));
    this.#tabs.release(itemId);
    const found = await this.#port.look(itemId);
    if (found === undefined) this.#notice = "The queue has no such item. This is the next one.";
    else if (found.isMine) this.#push(newEntry(found.item, found.stored));
    else this.#notice = "Another annotator has that item. This is the next one.";
  }

  /** The item, with the claim of the annotator on it; undefined where it cannot be had. */
  async #claim(id: string) {
    const passed: string[] = [];
    for (let tries = 0; tries < mostPassed; tries++) {
      const except = [...this.#held(), ...passed].filter((held) => held !== id).slice(-mostExcept);
      // oxlint-disable-next-line no-await-in-loop -- each says what is to be passed over
      const item = await this.#port.claim({ except, id });
      if (item === undefined || item.id === id) return item;
      passed.push(item.id);
    }
    return undefined;
  }

  /** Goes to the next item: one that was looked at before, or that is claimed already, or that has to be waited for. */
  async #forward(): Promise<void> {
    if (this.#at < this.#entries.length - 1) return this.#goTo(this.#at + 1);
    const entry = this.#ahead.shift();
    if (entry !== undefined) return this.#push(entry);
    // What failed stays said until there is an item.
    this.#phase = "waiting";
    this.#changed();
    await this.#fill();
  }

  #push(entry: Entry): void {
    this.#entries = [...this.#entries, entry];
    this.#goTo(this.#entries.length - 1);
    void this.#fill();
  }

  /** Claims items one after the other until enough are ahead. The first is shown where one is waited for. */
  async #fill(): Promise<void> {
    if (this.#isFilling) return;
    this.#isFilling = true;
    try {
      while (!this.#isGone && (this.#phase === "waiting" || this.#ahead.length < mostAhead)) {
        // oxlint-disable-next-line no-await-in-loop -- each says what is to be passed over
        const entry = await this.#claimNext();
        if (entry !== undefined && this.#hasLeft) {
          this.#tabs.release(entry.item.id);
          return this.#giveBack([entry.item.id]);
        }
        if (entry !== undefined) this.#ahead.push(entry);
        if (this.#phase !== "waiting") {
          if (entry === undefined) return;
          continue;
        }
        const first = this.#ahead.shift();
        if (first === undefined) {
          this.#at = this.#entries.length;
          this.#error = undefined;
          this.#phase = "done";
          this.#changed();
          return;
        }
        this.#push(first);
      }
    } catch (error) {
      await this.#fail(error);
    } finally {
      this.#isFilling = false;
    }
  }

  async #claimNext(): Promise<Entry | undefined> {
    const passed: string[] = [];
    for (let tries = 0; tries < mostPassed; tries++) {
      // oxlint-disable-next-line no-await-in-loop -- each says what is to be passed over
      const except = [...this.#seen(), ...(await this.#tabs.elsewhere()), ...passed].slice(-mostExcept);
      // oxlint-disable-next-line no-await-in-loop
      const item = await this.#port.claim({ except });
      if (item === undefined) return undefined;
      // oxlint-disable-next-line no-await-in-loop -- another tab may have been given it at the same time
      if (!this.#has(item.id) && (await this.#tabs.take(item.id))) return newEntry(item);
      passed.push(item.id);
    }
    return undefined;
  }

  #has = (id: string): boolean => this.#find(id) !== undefined || this.#ahead.some(({ item }) => item.id === id);

  /** Items that the service takes for those of the annotator. */
  #held(): string[] {
    return [...this.#entries, ...this.#ahead]
      .filter(({ stored }) => stored.outcome === undefined)
      .map(({ item }) => item.id);
  }

  /** All items so far, those that are held last: one that is opened again meanwhile must not come twice. */
  #seen(): string[] {
    const held = this.#held();
    return [...this.#entries.map(({ item }) => item.id).filter((id) => !held.includes(id)), ...held];
  }

  /** A claim that is not given back runs out, so a failure is nobody's concern. */
  #giveBack(ids: readonly string[]): void {
    if (ids.length > 0 && !this.#isGone) this.#port.release(ids).catch(() => undefined);
  }

  #goTo(at: number): void {
    this.#at = at;
    this.#begunAt = this.#now();
    this.#error = undefined;
    this.#phase = "working";
    this.#changed();
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      await this.#fail(error);
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (await this.#noticeGone()) return;
    if (this.#phase !== "waiting") return;
    this.#error = error;
    this.#phase = "failed";
    this.#changed();
  }

  /** Whether the queue was deleted. The item at hand stays, or else one that was not stored is. */
  async #noticeGone(): Promise<boolean> {
    if (this.#isGone) return true;
    this.#isGone = !(await this.#port.exists().catch(() => true));
    if (!this.#isGone) return false;
    this.#ahead = [];
    const unsaved = this.#entries.findLastIndex(({ outcome, stored }) => outcome !== stored.outcome);
    if (this.#phase !== "working" && unsaved >= 0) this.#goTo(unsaved);
    else if (this.#phase !== "working") this.#phase = "gone";
    this.#changed();
    return true;
  }

  async #write(id: string): Promise<void> {
    if (this.#writing.has(id)) return;
    this.#writing.add(id);
    this.#change(id, { isWriting: true });
    try {
      for (let step = this.#stepOf(id); step !== undefined; step = this.#stepOf(id)) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await this.#carryOut(id, step);
      }
      this.#writing.delete(id);
      this.#change(id, { isWriting: false, error: undefined });
    } catch (error) {
      this.#writing.delete(id);
      this.#change(id, { isWriting: false, error });
      await this.#noticeGone();
    }
  }

  #stepOf(id: string): Step | undefined {
    const entry = this.#find(id);
    return entry && nextStep(entry);
  }

  async #carryOut(id: string, step: Step): Promise<void> {
    const entry = this.#find(id);
    if (entry === undefined) return;
    const given = new Map(entry.stored.given);
    if (step.do === "reopen") {
      // Of a deleted queue there is no item any more, only the call.
      if (!this.#isGone) await this.#port.reopen(id);
      await this.#tabs.take(id);
      this.#change(id, { stored: { ...entry.stored, outcome: undefined } });
    } else if (step.do === "finish") {
      if (!this.#isGone) await this.#port.finish(id, step.outcome);
      this.#change(id, { stored: { ...entry.stored, outcome: step.outcome } });
      this.#tabs.release(id);
    } else if (step.do === "take back") {
      await this.#port.takeBack(step.id);
      given.delete(step.ref);
      this.#change(id, { stored: { ...entry.stored, given } });
    } else {
      const { ref, value } = step;
      const key = JSON.stringify([id, ref, value]);
      const feedbackId = this.#ids.get(key) ?? newId();
      this.#ids.set(key, feedbackId);
      await this.#port.give({ id: feedbackId, callId: entry.item.callId, ref, value }, !this.#isGone);
      // Taken back, it would be another.
      this.#ids.delete(key);
      given.set(ref, { id: feedbackId, value });
      this.#change(id, { stored: { ...entry.stored, given } });
    }
  }

  #find(id: string): Entry | undefined {
    return this.#entries.find(({ item }) => item.id === id);
  }

  #change(id: string, change: Partial<Entry>): void {
    this.#entries = this.#entries.map((entry) => (entry.item.id === id ? { ...entry, ...change } : entry));
    this.#changed();
  }

  #changed(): void {
    this.#state = undefined;
    for (const listener of this.#listeners) listener();
  }
}

/** Whether two sets of answers differ in no other field. */
const isOnly = (a: Answers, b: Answers, ref: string): boolean =>
  [...new Set([...a.keys(), ...b.keys()])].every((key) => key === ref || a.get(key) === b.get(key));
