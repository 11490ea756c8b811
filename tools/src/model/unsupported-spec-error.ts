/** A document uses something that the generators do not support. `pointer` is the JSON pointer to it. */
export class UnsupportedSpecError extends Error {
  override readonly name = "UnsupportedSpecError";
  readonly pointer: string;
  readonly reason: string;

  constructor(pointer: string, reason: string) {
    super(`#${pointer}: ${reason}`);
    this.pointer = pointer;
    this.reason = reason;
  }
}
