import { HeddleError } from "@heddle/errors";
import type { Sharer } from "./fair-share.js";

export interface FairQueueOptions {
  /** Items of one entity that are out at the same time. Default: all. */
  perEntity?: number;
  /** Items of one key that wait, and of all keys together. Default: all. */
  waitingPerKey?: number;
  waiting?: number;
  /** Why an item is refused: too many of its key wait, or too many of all. */
  messages?: Readonly<Record<"key" | "all", string>>;
}

/** An item whose turn it is. */
export interface Turn<Item> {
  item: Item;
  /** To be called when the item is done, with what it cost. */
  end(cost: number): void;
}

/** Who has items here, what they used so far, and the items that wait. */
interface Account {
  used: number;
}

interface KeyAccount<Item> extends Account {
  /** In order of arrival. */
  waiting: Set<{ item: Item }>;
}

interface EntityAccount<Item> extends Account {
  keys: Map<string, KeyAccount<Item>>;
  /** What the key had used whose item was taken last. */
  level: number;
  out: number;
  waiting: number;
}

/** What an item costs at least, so that items without a cost come in turns, too. */
const leastCost = 1;
/** Whoever works without a sharer is one of many. */
const nobody: Sharer = { key: "", entity: "" };

/**
 * Items that wait for something that all share, such as a thread. The next one is of the entity that has used the least,
 * and in it of the key that has used the least, however many wait and whatever each of them costs. Whoever was idle begins
 * with what the others have used: nobody saves up.
 */
export class FairQueue<Item> {
  readonly #options: FairQueueOptions;
  readonly #entities = new Map<string, EntityAccount<Item>>();
  #waiting = 0;
  /** What the entity had used whose item was taken last. */
  #level = 0;

  constructor(options: FairQueueOptions = {}) {
    this.#options = options;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Whether items of others than this entity wait. */
  waitsBesides(entity: string): boolean {
    return this.#waiting > (this.#entities.get(entity)?.waiting ?? 0);
  }

  /** Adds an item; the function that is returned removes it. Throws `rate_limited` or `busy` when too many wait. */
  add({ key, entity }: Sharer = nobody, item: Item): () => void {
    const { waiting = Infinity, waitingPerKey = Infinity, messages } = this.#options;
    if (this.#waiting >= waiting) throw new HeddleError("busy", messages?.all ?? "too much waits");
    const account = this.#entityAccount(entity);
    const keyAccount = keyAccountOf(account, key);
    if (keyAccount.waiting.size >= waitingPerKey) {
      throw new HeddleError("rate_limited", messages?.key ?? "too much of this key waits");
    }
    const entry = { item };
    keyAccount.waiting.add(entry);
    this.#count(account, 1);
    return () => {
      if (!keyAccount.waiting.delete(entry)) return;
      this.#count(account, -1);
      this.#forget();
    };
  }

  /** Takes the next item; undefined when none waits whose entity may have one more. */
  take(): Turn<Item> | undefined {
    const { perEntity = Infinity } = this.#options;
    const account = least(this.#entities, ({ waiting, out }) => waiting > 0 && out < perEntity);
    const keyAccount = account && least(account.keys, ({ waiting }) => waiting.size > 0);
    const [entry] = keyAccount?.waiting ?? [];
    if (account === undefined || keyAccount === undefined || entry === undefined) return undefined;
    this.#level = Math.max(this.#level, account.used);
    account.level = Math.max(account.level, keyAccount.used);
    keyAccount.waiting.delete(entry);
    this.#count(account, -1);
    account.out += 1;
    const charge = (cost: number) => {
      account.used += cost;
      keyAccount.used += cost;
    };
    charge(leastCost);
    return {
      item: entry.item,
      end: (cost) => {
        charge(Math.max(0, cost - leastCost));
        account.out -= 1;
        this.#forget();
      },
    };
  }

  #entityAccount(entity: string): EntityAccount<Item> {
    const account = this.#entities.get(entity) ?? { used: 0, keys: new Map(), level: 0, out: 0, waiting: 0 };
    if (account.waiting + account.out === 0) account.used = Math.max(account.used, this.#level);
    this.#entities.set(entity, account);
    return account;
  }

  #count(account: EntityAccount<Item>, change: number): void {
    account.waiting += change;
    this.#waiting += change;
  }

  /** Forgets who has nothing here and has used no more than the others, or has no others. */
  #forget(): void {
    for (const [entity, { waiting, out, used, keys, level }] of this.#entities) {
      if (waiting + out === 0 && (this.#waiting === 0 || used <= this.#level)) this.#entities.delete(entity);
      for (const [key, account] of keys) if (account.waiting.size === 0 && account.used <= level) keys.delete(key);
    }
  }
}

function keyAccountOf<Item>({ keys, level }: EntityAccount<Item>, key: string): KeyAccount<Item> {
  const account = keys.get(key) ?? { used: 0, waiting: new Set() };
  if (account.waiting.size === 0) account.used = Math.max(account.used, level);
  keys.set(key, account);
  return account;
}

function least<Value extends Account>(
  accounts: ReadonlyMap<string, Value>,
  mayTake: (account: Value) => boolean,
): Value | undefined {
  let best: Value | undefined;
  for (const account of accounts.values()) {
    if (mayTake(account) && (best === undefined || account.used < best.used)) best = account;
  }
  return best;
}
