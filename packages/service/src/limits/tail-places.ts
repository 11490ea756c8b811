import type { Sharer } from "@heddle/concurrency";
import { HeddleError } from "@heddle/errors";

const perKey = 20;
const inAll = 200;

/** How many clients follow calls at the moment; a further one is refused at once. */
export class TailPlaces {
  /**
   * How many replicas there are. Each gives twice its part of the places: all together give at most twice as many, and a key whose
   * connections come to a few of them still gets most of its share.
   */
  readonly #replicas: () => number;
  #taken = 0;
  readonly #byKey = new Map<string, number>();

  constructor(replicas: () => number = () => 1) {
    this.#replicas = replicas;
  }

  /** Throws `rate_limited` where there is no place. The result gives it back. */
  take({ key }: Sharer): () => void {
    const mine = this.#byKey.get(key) ?? 0;
    const part = (places: number) => Math.min(places, Math.ceil((2 * places) / this.#replicas()));
    if (mine >= part(perKey)) throw new HeddleError("rate_limited", `this key has ${perKey} tails, which is its share`);
    if (this.#taken >= part(inAll))
      throw new HeddleError("rate_limited", `${inAll} clients have tails, and there are no more places`);
    this.#taken += 1;
    this.#byKey.set(key, mine + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#taken -= 1;
      const left = (this.#byKey.get(key) ?? 1) - 1;
      if (left === 0) this.#byKey.delete(key);
      else this.#byKey.set(key, left);
    };
  }
}
