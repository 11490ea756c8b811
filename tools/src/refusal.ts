/** A document uses something the generators do not support; `pointer` says where (JSON pointer into the document). */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly pointer: string;
  readonly sentence: string;

  constructor(pointer: string, sentence: string) {
    super(`#${pointer}: ${sentence}`);
    this.pointer = pointer;
    this.sentence = sentence;
  }
}

/** `/paths` + `/call/start` → `/paths/~1call~1start` */
export function at(pointer: string, ...steps: (string | number)[]): string {
  return steps.reduce<string>(
    (path, step) => `${path}/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`,
    pointer,
  );
}
