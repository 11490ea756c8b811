import type { ObjectVersionFilter } from "@heddle/client/tracing";

const classes = { datasets: "Dataset", prompts: "Prompt", scorers: "Scorer", models: "Model" } as const;

/** What the library lists apart. `objects` are all that is none of the others. */
export const kinds = ["datasets", "prompts", "ops", "scorers", "models", "objects"] as const;
export type Kind = (typeof kinds)[number];

/** The kind that an address names; datasets where it names none that there is. */
export const kindOf = (given: string | undefined): Kind => kinds.find((kind) => kind === given) ?? "datasets";

/** What the API selects a kind by. */
export function filterOf(kind: Kind): ObjectVersionFilter {
  if (kind === "ops") return { is_op: true };
  if (kind === "objects") return { is_op: false, exclude_base_object_classes: Object.values(classes) };
  return { is_op: false, base_object_classes: [classes[kind]] };
}

/** How calls and other objects name a version. */
export const refOf = (projectId: string, kind: Kind, name: string, digest: string): string =>
  `weave:///${projectId}/${kind === "ops" ? "op" : "object"}/${name}:${digest}`;

/** The digest of the table that a ref leads to; undefined for other texts. */
export const tableOf = (ref: string | undefined): string | undefined =>
  /^weave:\/\/\/[^/]+\/[^/]+\/table\/([^/]+)$/.exec(ref ?? "")?.[1];

/** As headings have them. */
export const titleOf: Record<Kind, string> = {
  datasets: "Datasets",
  prompts: "Prompts",
  ops: "Ops",
  scorers: "Scorers",
  models: "Models",
  objects: "Others",
};
