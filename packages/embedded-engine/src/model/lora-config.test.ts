import type { LoraConfig } from "@heddle/training";
import { expect, test } from "vitest";
import { checkLoraConfig } from "./lora-config.js";

const valid: LoraConfig = { rank: 8, alpha: 16, targets: ["q", "down"] };

test.each([
  ["rank", { rank: 0 }],
  ["rank", { rank: 2.5 }],
  ["rank", { rank: Number.NaN }],
  ["rank", { rank: 1e9 }],
  ["alpha", { alpha: 0 }],
  ["alpha", { alpha: Number.POSITIVE_INFINITY }],
  ["targets", { targets: [] }],
  ["targets", { targets: JSON.parse('["q", "lm_head"]') }],
] as [string, Partial<LoraConfig>][])("an adapter whose %s makes no sense is refused: %j", (field, change) => {
  expect(() => checkLoraConfig({ ...valid, ...change })).toThrow(
    expect.objectContaining({ code: "invalid", loc: [field] }),
  );
  expect(() => checkLoraConfig(valid)).not.toThrow();
});
