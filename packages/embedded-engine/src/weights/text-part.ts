import type { FamilyRecord } from "./families.js";
import type { Tensors } from "./sharded-tensors.js";

/**
 * The tensors of the part for texts of a model that has others, under the names of a model that is this part alone, which has them
 * already.
 */
export function textPart(tensors: Tensors, { partOf, others }: Pick<FamilyRecord, "partOf" | "others">): Tensors {
  const prefix = partOf?.prefix ?? "model.";
  const stored = new Map<string, string>();
  for (const name of tensors.names()) {
    if (others?.test(name)) continue;
    stored.set(name.startsWith(prefix) ? `model.${name.slice(prefix.length)}` : name, name);
  }
  const nameOf = (name: string) => stored.get(name) ?? name;
  return {
    ...tensors,
    names: () => stored.keys(),
    require: (name, shape) => tensors.require(nameOf(name), shape),
    read: (name, into) => tensors.read(nameOf(name), into),
    infoOf: (name) => tensors.infoOf(nameOf(name)),
    readBytes: (name) => tensors.readBytes(nameOf(name)),
    error: (name, what) => tensors.error(nameOf(name), what),
  };
}
