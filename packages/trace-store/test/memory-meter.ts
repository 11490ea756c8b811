import type { Reserve } from "../src/context.js";

/** Notes what reads reserve: in all, and the most at a time. */
export class MemoryMeter {
  total = 0;
  most = 0;
  held = 0;

  readonly reserve: Reserve = async (bytes) => {
    this.total += bytes;
    this.held += bytes;
    this.most = Math.max(this.most, this.held);
    return () => {
      this.held -= bytes;
    };
  };
}
