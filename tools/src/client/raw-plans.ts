import { compact, isLossy, noPlan } from "../server-stub/plan-table.js";
import type { PlanEntry } from "../server-stub/plan-table.js";
import { Plans } from "../server-stub/plans.js";
import type { Model } from "../model/model.js";
import { banner } from "../generated-files.js";

/** Where the responses of a document have free JSON (`x-heddle-raw-json`). */
export interface RawPlanTable {
  entries: PlanEntry[];
  /** By operationId, of those that have any: of the response, or of an item of its stream. */
  operations: Map<string, number>;
}

export function rawPlansOf({ document, operations }: Model): RawPlanTable {
  const plans = new Plans(document);
  const found = operations.flatMap(({ id, success }) =>
    success.contents.flatMap(({ schema, pointer }) => (schema ? [[id, plans.planOf(schema, pointer)] as const] : [])),
  );
  const table = compact(withoutOthers(plans.entries));
  return {
    entries: table.entries,
    operations: new Map(
      found.map(([id, plan]) => [id, table.indexOf(plan)] as const).filter(([, at]) => at !== noPlan),
    ),
  };
}

/** The entries with nothing but what is free, and what leads there. */
function withoutOthers(all: readonly PlanEntry[]): PlanEntry[] {
  const bare = all.map(({ raw, properties, others, items }): PlanEntry => {
    if (raw !== undefined) return { raw: [] };
    return {
      ...(properties && { properties }),
      ...(others !== undefined && { others }),
      ...(items !== undefined && { items }),
    };
  });
  const leads = (plan: unknown): plan is number => typeof plan === "number" && isLossy(bare, plan);
  return bare.map((entry, plan) => {
    if (entry.raw !== undefined || !leads(plan)) return entry.raw === undefined ? {} : entry;
    const { properties = {}, others, items } = entry;
    const kept = Object.entries(properties).filter(([, at]) => leads(at));
    return {
      ...(kept.length > 0 && { properties: Object.fromEntries(kept) }),
      ...(leads(others) && { others }),
      ...(leads(items) && { items }),
    };
  });
}

/** The module that is loaded for the first request that asks for raw JSON, and the types of its plans. */
export function rawPlansText({ source, interface: name }: Model, { entries, operations }: RawPlanTable): string {
  const plans = entries.map((entry) => (entry.raw === undefined ? entry : { raw: true }));
  return `${banner(source)}
import type { RawPlans } from "../raw/plan.js";

${entries.map((entry, at) => `export type Plan${at} = ${typeText(entry)};\n`).join("")}
/** Where the responses of the ${name} interface have free JSON. */
export const raw: RawPlans = {
  plans: [
${plans.map((plan) => `    ${JSON.stringify(plan)},\n`).join("")}  ],
  operations: ${JSON.stringify(Object.fromEntries(operations))},
};
`;
}

function typeText({ raw, properties = {}, others, items }: PlanEntry): string {
  if (raw !== undefined) return '"raw"';
  const members = [
    ...Object.entries(properties),
    ...(typeof others === "number" ? [["*", others] as const] : []),
    ...(items === undefined ? [] : [["[]", items] as const]),
  ];
  return `{ ${members.map(([member, at]) => `${JSON.stringify(member)}: Plan${at}`).join("; ")} }`;
}
