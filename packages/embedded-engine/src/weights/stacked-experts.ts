import type { Tensors } from "./sharded-tensors.js";

// Published files of Qwen3.5 MoE have the experts of a layer in two tensors: `mlp.experts.gate_up_proj` [experts, 2 x width, hidden],
// the rows of the gate before those of the up, and `mlp.experts.down_proj` [experts, hidden, width]. Other files, and those that
// transformers writes, have three matrices for each expert.

const stackedName = /^(.*\.mlp\.experts\.)(gate_up|down)_proj$/u;
const separateName = /^(.*\.mlp\.experts\.)(\d+)\.(gate|up|down)_proj\.weight$/u;

/** Where the matrix of an expert is: the tensor, the part of each expert's share of it, and of how many such parts. */
interface Place {
  stacked: string;
  expert: number;
  part: number;
  parts: number;
}

/** The tensors of a file with those of stacked experts under the names, and in the shapes, of separate ones. */
export function withSeparateExperts(tensors: Tensors): Tensors {
  const stacked = new Set([...tensors.names()].filter((name) => stackedName.test(name)));
  if (stacked.size === 0) return tensors;
  const shapeOf = (name: string) => tensors.infoOf(name)?.shape ?? [];
  const placeOf = (name: string): Place | undefined => {
    const [, before = "", expert, which] = separateName.exec(name) ?? [];
    const isDown = which === "down";
    const whole = `${before}${isDown ? "down" : "gate_up"}_proj`;
    if (expert === undefined || !stacked.has(whole)) return undefined;
    return { stacked: whole, expert: Number(expert), part: which === "up" ? 1 : 0, parts: isDown ? 1 : 2 };
  };
  /** Experts follow each other, so that a tensor is read once. */
  const read = new Map<string, { name: string; values: Float32Array }>();
  const valuesOf = async (name: string) => {
    const kind = stackedName.exec(name)?.[2] ?? "";
    const last = read.get(kind);
    if (last?.name === name) return last.values;
    read.delete(kind);
    const values = await tensors.read(name);
    read.set(kind, { name, values });
    return values;
  };
  return {
    ...tensors,
    *names() {
      for (const name of tensors.names()) {
        const [, before = "", kind] = stackedName.exec(name) ?? [];
        if (kind === undefined) {
          yield name;
          continue;
        }
        const [experts = 0] = shapeOf(name);
        for (let expert = 0; expert < experts; expert++)
          for (const part of kind === "down" ? ["down"] : ["gate", "up"])
            yield `${before}${expert}.${part}_proj.weight`;
      }
    },
    infoOf: (name) => (placeOf(name) ? undefined : tensors.infoOf(name)),
    require(name, shape) {
      const place = placeOf(name);
      if (!place) return tensors.require(name, shape);
      if (tensors.infoOf(name)) throw tensors.error(name, `is in the file a second time, in ${place.stacked}`);
      const { stacked: whole, expert, parts } = place;
      const [experts = 0] = shapeOf(whole);
      const [rows = 0, columns = 0] = shape;
      // More experts than the configuration says are found as tensors that it does not have.
      tensors.require(whole, [Math.max(experts, expert + 1), rows * parts, columns]);
    },
    async read(name, into) {
      const place = placeOf(name);
      if (!place) return tensors.read(name, into);
      const values = await valuesOf(place.stacked);
      const [, rows = 0, columns = 0] = shapeOf(place.stacked);
      const size = (rows * columns) / place.parts;
      const start = (place.expert * place.parts + place.part) * size;
      const own = values.subarray(start, start + size);
      if (!into) return own.slice();
      into.set(own);
      return into;
    },
    error: (name, what) => tensors.error(placeOf(name)?.stacked ?? name, what),
  };
}
