import { HeddleError } from "@heddle/errors";
import type { LoraConfig, LoraTarget } from "@heddle/training";
import { loraTargets } from "@heddle/training";
import type { ModelConfig } from "../model/config.js";
import { projectionShape } from "../model/parameters.js";
import { families } from "./families.js";

/** Where a projection is in the files of a base model: rows of a matrix that it may share with others. */
export interface ProjectionRows {
  target: LoraTarget;
  /** Name of the matrix within a layer: `self_attn.q_proj`. */
  module: string;
  firstRow: number;
  rows: number;
  /** Number of rows of the matrix. */
  allRows: number;
  /** Which of the projections of the matrix it is, and how many they are. */
  part: number;
  parts: number;
}

const fused: readonly (readonly [name: string, targets: readonly LoraTarget[]])[] = [
  ["self_attn.qkv_proj", ["q", "k", "v"]],
  ["self_attn.o_proj", ["o"]],
  ["mlp.gate_up_proj", ["gate", "up"]],
  ["mlp.down_proj", ["down"]],
];
const separate = fused.flatMap(([module, targets]) =>
  targets.map((target) => [`${module.split(".")[0]}.${target}_proj`, [target]] as const),
);

/** Returns the projections of a layer that adapters may change, in the order of `loraTargets`. */
export function projectionRows(config: ModelConfig): ProjectionRows[] {
  const all = families[config.family].isFused ? fused : separate;
  // Experts are not adapted.
  const modules = all.filter(([module]) => !config.experts || module.startsWith("self_attn."));
  const located = modules.flatMap(([module, targets]) => {
    const widths = targets.map((target) => projectionShape(config, target)[1]);
    const allRows = widths.reduce((sum, width) => sum + width, 0);
    return targets.map((target, part): ProjectionRows => {
      const firstRow = widths.slice(0, part).reduce((sum, width) => sum + width, 0);
      return { target, module, firstRow, rows: widths[part]!, allRows, part, parts: targets.length };
    });
  });
  return loraTargets.flatMap((target) => located.filter((each) => each.target === target));
}

/** Returns the projections that adapters may change, those of one matrix together. */
export function targetGroups(config: ModelConfig): LoraTarget[][] {
  const all = projectionRows(config);
  return [...new Set(all.map(({ module }) => module))].map((module) =>
    all.filter((each) => each.module === module).map(({ target }) => target),
  );
}

/** Returns the last parts of the names of the matrices that adapters may change: `q_proj`. */
export function moduleNames(config: ModelConfig): string[] {
  return [...new Set(projectionRows(config).map(({ module }) => module.split(".")[1]!))];
}

/**
 * Checks that an adapter has projections that are adapted, and all projections of a matrix that the files of its base model have as one, or none: PEFT adapts such a
 * matrix as a whole.
 *
 * @throws HeddleError `unsupported` with the field.
 */
export function requireWholeModules(config: ModelConfig, { targets }: LoraConfig): void {
  const all = projectionRows(config);
  const other = targets.find((target) => all.every((each) => each.target !== target));
  if (other !== undefined) {
    const names = all.map(({ target }) => target).join(", ");
    const message = `the adapter's targets contain ${other}: of this model, ${names} are adapted, and no experts`;
    throw new HeddleError("unsupported", message, { loc: ["targets"] });
  }
  for (const module of new Set(all.map((each) => each.module))) {
    const together = all.filter((each) => each.module === module).map(({ target }) => target);
    const missing = together.find((target) => !targets.includes(target));
    if (missing === undefined || !together.some((target) => targets.includes(target))) continue;
    const message = `the adapter's targets lack ${missing}: this model has ${together.join(", ")} as one matrix, ${module}, which is adapted as a whole`;
    throw new HeddleError("unsupported", message, { loc: ["targets"] });
  }
}
