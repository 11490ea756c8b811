import type { UsageRow } from "@heddle/trace-model";
import { usageCounts } from "../stored-calls/call-sides.js";

/** What a call used itself, as the engine gives it: models, and for each the counts in the order of `usageCounts`. */
export interface StoredUsage {
  models: string[];
  counts: string[][];
}

/** SQL of the columns of `StoredUsage`, over those of `calls`. */
export const usageSql = [
  "`usage.model` AS models",
  `arrayZip(${usageCounts.map((name) => `\`usage.${name}\``).join(", ")}) AS counts`,
];

export function usageRows({ models, counts }: StoredUsage): UsageRow[] {
  return models.map((model, index) => {
    const [requests = 0, prompt = 0, completion = 0, total = 0, cacheRead = 0, cacheCreation = 0] =
      counts[index]?.map(Number) ?? [];
    return {
      model,
      requests,
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: total,
      cache_read_tokens: cacheRead,
      cache_creation_tokens: cacheCreation,
    };
  });
}
