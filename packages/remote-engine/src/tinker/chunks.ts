import type { Datum } from "./datum.js";

/** Limits of one request that the servers announce to their own clients. */
const maxSequences = 1024;
const maxBytes = 5_000_000;
/** Estimated JSON bytes of one entry of a tensor. */
const bytesPerEntry = 12;

/** Divides the data of one call into requests. The parts are consecutive and not empty. */
export function splitData(data: Datum[]): { from: number; to: number }[] {
  const parts: { from: number; to: number }[] = [];
  let bytes = 0;
  for (const [
    index,
    {
      loss_fn_inputs: inputs,
      model_input: { chunks },
    },
  ] of data.entries()) {
    const tensors = Object.values(inputs).reduce((sum, { data: values }) => sum + values.length, 0);
    const size = bytesPerEntry * (chunks[0].tokens.length + tensors);
    const last = parts.at(-1);
    if (last && last.to - last.from < maxSequences && bytes + size <= maxBytes) {
      last.to = index + 1;
      bytes += size;
    } else {
      parts.push({ from: index, to: index + 1 });
      bytes = size;
    }
  }
  return parts;
}
